// SPDX-License-Identifier: MIT
// What kind of work an operator is, for advice that fits some kinds alone: nothing about a sum is mended by
// matrix instructions.
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

// By the names that such operators go by: "attention.forward", "flash_attn", "sgemm", "linear", "row
// softmax". A name that says nothing is `other`: no advice is better than a wrong one.
Family family_of(std::string_view op);

}  // namespace dent
