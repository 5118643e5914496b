// SPDX-License-Identifier: MIT
// The manifest's named variants as rungs of a ladder: each that stands above the incumbent is tried once,
// those of the brief's phase alone.
#pragma once

#include "loop/proposers/proposer.h"

namespace dent {

class VariantsProposer : public Proposer {
 public:
  std::string_view name() const override { return "variants"; }
  std::optional<Proposal> propose(const Brief& brief) override;
};

// Asks all proposers for the phase that the diagnosis points to, then for the others in the order of attack;
// tuning is always the last. Where the diagnosis finds no single bottleneck, the first proposer (the rungs of
// a ladder) is asked for every phase before the next one (tunables).
class ByPhase : public Proposer {
 public:
  explicit ByPhase(std::vector<std::unique_ptr<Proposer>> proposers) : proposers_(std::move(proposers)) {}
  std::string_view name() const override { return "by phase"; }
  std::optional<Proposal> propose(const Brief& brief) override;

 private:
  std::vector<std::unique_ptr<Proposer>> proposers_;
};

}  // namespace dent
