// SPDX-License-Identifier: MIT
// Families of operators, for advice that helps only some of them: matrix instructions, for example, don't
// speed up a sum.
#pragma once

#include <span>
#include <string_view>

#include "base/words.h"

namespace dent {

enum class Family { other, attention, matmul, softmax };
inline constexpr Word<Family> kFamilyWords[] = {{Family::other, "other"},
                                                {Family::attention, "attention"},
                                                {Family::matmul, "matmul"},
                                                {Family::softmax, "softmax"}};
constexpr std::span<const Word<Family>> words(Family) { return kFamilyWords; }

// Guesses the family from common names: "attention.forward", "flash_attn", "sgemm", "linear", "row softmax".
// Unknown names give `other`, since wrong advice is worse than none.
Family family_of(std::string_view op);

}  // namespace dent
