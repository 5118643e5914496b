// SPDX-License-Identifier: MIT
#include "records/proposal.h"

namespace dent {

void fields(Fields& f, Assignment& assignment) {
  f("tunable", assignment.tunable, "name of the tunable");
  f("value", assignment.value, "value that it is set to");
}

void fields(Fields& f, Spend& spend) {
  f("seconds", spend.seconds, "time that the proposer took");
  f.may("usd", spend.usd, "cost that it reports");
  f.may("input_tokens", spend.input_tokens, "tokens that it reports to have read");
  f.may("output_tokens", spend.output_tokens, "tokens that it reports to have written");
}

void fields(Fields& f, Proposal& proposal) {
  f("proposer", proposal.proposer, "name of the proposer");
  f("phase", proposal.phase, "phase of the loop");
  f("bottleneck", proposal.hypothesis.bottleneck, "what limits the kernel");
  f("change", proposal.hypothesis.change, "what is changed");
  f("expected", proposal.hypothesis.expected, "expected effect");
  f("spend", proposal.spend, "cost of the proposal itself");
  f("assignment", proposal.assignment, "tunable that is set");
  f("variant", proposal.variant, "variant that is selected");
  std::optional<std::vector<std::string>> files;
  if (proposal.source) files = proposal.source->files;
  f("files", files, "source files that are changed, as declared");
  if (files) {
    if (!proposal.source) proposal.source.emplace();
    proposal.source->files = *files;
  }
  f.may("pattern", proposal.pattern, "pattern that it follows");
  f.may("refusal", proposal.refusal, "why it must not be tried");
  f.may("done", proposal.done, "whether its proposer has no more ideas");
}

}  // namespace dent
