// SPDX-License-Identifier: MIT
// Phases of optimisation, in order. Parallelism comes first, because other changes hardly help while most of
// a chip is idle; tile sizes and unrolling, which gain the last per cent, come last.
#pragma once

#include <array>
#include <string_view>

#include "base/words.h"

namespace dent {

enum class Phase { parallelism, tensor_cores, memory, compute, tuning };
inline constexpr std::array kPhases{Phase::parallelism, Phase::tensor_cores, Phase::memory, Phase::compute,
                                    Phase::tuning};
inline constexpr Word<Phase> kPhaseWords[] = {{Phase::parallelism, "parallelism"},
                                              {Phase::tensor_cores, "tensor cores"},
                                              {Phase::memory, "memory"},
                                              {Phase::compute, "compute"},
                                              {Phase::tuning, "tuning"}};
constexpr std::span<const Word<Phase>> words(Phase) { return kPhaseWords; }

Phase parse_phase(std::string_view text);  // "" means tuning; throws Error for an unknown name

}  // namespace dent
