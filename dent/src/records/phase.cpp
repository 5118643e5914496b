// SPDX-License-Identifier: MIT
#include "records/phase.h"

#include <string>

#include "base/error.h"

namespace dent {

Phase parse_phase(std::string_view text) {
  if (text.empty()) return Phase::tuning;
  if (const auto phase = parse_word<Phase>(text)) return *phase;
  throw Error(ErrorCode::invalid, "phase is \"" + std::string(text) +
                                      "\"; accepted are parallelism, tensor cores, memory, compute, tuning");
}

}  // namespace dent
