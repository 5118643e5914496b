// SPDX-License-Identifier: MIT
#pragma once

#include "base/words.h"

namespace dent {

// Whether code that is not dent's own runs in a cell: where there can be one, always, never.
enum class Sandbox { automatic, required, off };
inline constexpr Word<Sandbox> kSandboxWords[] = {
    {Sandbox::automatic, "auto"}, {Sandbox::required, "required"}, {Sandbox::off, "off"}};
constexpr std::span<const Word<Sandbox>> words(Sandbox) { return kSandboxWords; }

}  // namespace dent
