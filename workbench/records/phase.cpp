// SPDX-License-Identifier: MIT
#include "records/phase.h"

#include <string>

#include "base/error.h"

namespace dent {

std::string_view name(Phase phase) {
  switch (phase) {
    case Phase::parallelism:
      return "parallelism";
    case Phase::tensor_cores:
      return "tensor cores";
    case Phase::memory:
      return "memory";
    case Phase::compute:
      return "compute";
    case Phase::tuning:
      return "tuning";
  }
  throw Error(ErrorCode::internal, "a phase without a name");
}

Phase parse_phase(std::string_view text) {
  if (text.empty()) return Phase::tuning;
  for (const Phase phase : kPhases) {
    if (name(phase) == text) return phase;
  }
  throw Error(ErrorCode::invalid, "phase \"" + std::string(text) +
                                      "\"; there are parallelism, tensor cores, memory, compute, tuning");
}

}  // namespace dent
