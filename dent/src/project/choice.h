// SPDX-License-Identifier: MIT
// From a choice of variant and tunables to the kernel that is built, and to the file that keeps the choice.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "project/project.h"

namespace dent {

inline constexpr const char* kTunedName = "tuned.toml";
inline constexpr const char* kFirstRung = "kernel";  // how [kernel] itself is called among the variants

// Throws Error when there is no such variant.
Kernel kernel_of(const Project& project, const Choice& choice);

// The value that holds under a choice.
const std::string& value_of(const Tunable& tunable, const Choice& choice);
// Those that the choice's variant reads.
std::vector<const Tunable*> tunables_of(const Project& project, const Choice& choice);

// The first constraint that the choice breaks, with the numbers in it, for any of the shapes; "" when it
// keeps them all.
std::string broken_constraint(const Project& project, const Choice& choice);

// tuned.toml. Reading throws Error for names and values that the manifest does not have.
std::string tuned_text(const Choice& choice);
Choice parse_tuned(std::string_view toml, const Project& project);

// "TILE=32, UNROLL=2 (variant split)".
std::string describe(const Choice& choice);

}  // namespace dent
