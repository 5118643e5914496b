// SPDX-License-Identifier: MIT
#include "loop/proposers/proposer.h"

namespace dent {

std::optional<Proposal> InTurn::propose(const Brief& brief) {
  for (const auto& proposer : proposers_) {
    if (auto proposal = proposer->propose(brief)) return proposal;
  }
  return std::nullopt;
}

}  // namespace dent
