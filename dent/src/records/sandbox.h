// SPDX-License-Identifier: MIT
#pragma once

#include "base/words.h"

namespace dent {

// Whether untrusted code runs in a sandbox: if the system supports it, always, or never.
enum class Sandbox { automatic, required, off };
inline constexpr Word<Sandbox> kSandboxWords[] = {
    {Sandbox::automatic, "auto"}, {Sandbox::required, "required"}, {Sandbox::off, "off"}};
constexpr std::span<const Word<Sandbox>> words(Sandbox) { return kSandboxWords; }

}  // namespace dent
