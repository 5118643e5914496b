// SPDX-License-Identifier: MIT
// The patterns that match the diagnosis and whose fix is a variant or a tunable of the project, the most
// promising first.
#pragma once

#include "loop/proposers/proposer.h"

namespace dent {

class PatternsProposer : public Proposer {
 public:
  std::string_view name() const override { return "patterns"; }
  std::optional<Proposal> propose(const Brief& brief) override;
};

}  // namespace dent
