// SPDX-License-Identifier: MIT
// The search over tunables: of all single changes to the incumbent that can run, the one from which most is
// expected.
//
// What breaks a constraint, or can't run on the device as far as its resources can be predicted, is never
// tried. The rest is ranked by expected improvement under a model of what was measured so far
// (loop/search/surrogate.h). In phases before the last one only tunables of that phase are moved, and two
// losses in a row end it; the last phase moves them all.
#pragma once

#include <functional>

#include "loop/proposers/proposer.h"

namespace dent {

// Why a choice can't run or can't win, by prediction; "" when it may.
using Pruner = std::function<std::string(const Brief& brief, const Choice& choice)>;

class SearchProposer : public Proposer {
 public:
  explicit SearchProposer(Pruner pruner = {}) : pruner_(std::move(pruner)) {}
  std::string_view name() const override { return "search"; }
  std::optional<Proposal> propose(const Brief& brief) override;

 private:
  Pruner pruner_;
};

}  // namespace dent
