// SPDX-License-Identifier: MIT
#include "records/proposal.h"

namespace dent {

void fields(Fields& f, Assignment& assignment) {
  f("tunable", assignment.tunable, "its name");
  f("value", assignment.value, "that it is set to");
}

void fields(Fields& f, Spend& spend) {
  f("seconds", spend.seconds, "that the proposer took");
  f.may("usd", spend.usd, "that it says it cost");
  f.may("input_tokens", spend.input_tokens, "that it says it read");
  f.may("output_tokens", spend.output_tokens, "that it says it wrote");
}

void fields(Fields& f, Proposal& proposal) {
  f("proposer", proposal.proposer, "whose idea it is");
  f("phase", proposal.phase, "of the loop");
  f("bottleneck", proposal.hypothesis.bottleneck, "what holds the kernel back");
  f("change", proposal.hypothesis.change, "what is changed");
  f("expected", proposal.hypothesis.expected, "what that should do");
  f("spend", proposal.spend, "what the proposal itself took");
  f("assignment", proposal.assignment, "a tunable that is set");
  f("variant", proposal.variant, "a variant that is taken");
  std::optional<std::vector<std::string>> files;
  if (proposal.source) files = proposal.source->files;
  f("files", files, "sources that are changed, as declared");
  if (files) {
    if (!proposal.source) proposal.source.emplace();
    proposal.source->files = *files;
  }
  f.may("pattern", proposal.pattern, "that it follows");
  f.may("refusal", proposal.refusal, "why it must not be tried");
  f.may("done", proposal.done, "whether its proposer has no more ideas");
}

}  // namespace dent
