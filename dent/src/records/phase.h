// SPDX-License-Identifier: MIT
// The order of attack: a grid that leaves most of a chip idle makes everything else pointless, so parallelism
// comes first, and the last per cent of tiles and unrolling come last.
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

Phase parse_phase(std::string_view text);  // "" is tuning; throws Error for anything else

}  // namespace dent
