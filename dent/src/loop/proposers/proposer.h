// SPDX-License-Identifier: MIT
// Who has ideas. A proposer says what to try and why; it never says whether it helped.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "loop/proposers/proposal.h"
#include "loop/state/brief.h"

namespace dent {

class Proposer {
 public:
  virtual ~Proposer() = default;
  virtual std::string_view name() const = 0;

  // Nothing: no more ideas. Everything that it must remember is in the brief, so that a loop which was killed
  // goes on as if it had not been. Throws Error for a fault of the proposer's own (a command that can't be
  // started); an answer that makes no sense is a Proposal that gets refused, and so is in the history.
  virtual std::optional<Proposal> propose(const Brief& brief) = 0;
};

// Asks the first; when it has no more ideas, the next.
class InTurn : public Proposer {
 public:
  explicit InTurn(std::vector<std::unique_ptr<Proposer>> proposers) : proposers_(std::move(proposers)) {}
  std::string_view name() const override { return "in turn"; }
  std::optional<Proposal> propose(const Brief& brief) override;

 private:
  std::vector<std::unique_ptr<Proposer>> proposers_;
};

}  // namespace dent
