// SPDX-License-Identifier: MIT
#include "records/loop.h"

namespace dent {

void fields(Fields& f, Choice& choice) {
  f("variant", choice.variant, "empty: [kernel] itself");
  f("tunables", choice.tunables, "those that differ from their start");
}

void fields(Fields& f, Shape& shape) {
  f("name", shape.name, "its name");
  f("sizes", shape.sizes, "its sizes");
  f.unless(1.0, "weight", shape.weight, "in the mean over shapes; left out: 1");
}

}  // namespace dent

namespace dent::record {

void fields(Fields& f, Loop& loop) {
  f("base", loop.base, "commit of the user's tree as it was");
  f("branch", loop.branch, "that kept changes go to");
  f("private_repository", loop.private_repository, "whether it is dent's own, in .dent/repository");
  f("harness", loop.harness, "SHA-256 over the files that say what is right and what is compared with");
  f("iterations", loop.iterations, "at most");
  f("confirmation_alpha", loop.confirmation_alpha, "of the confirmation's interval");
  f("target", loop.target, "times the baseline's speed");
  f.may("target_shape", loop.target_shape, "where the target counts; left out for the mean");
  f("minutes", loop.minutes, "budget of the command line");
  f("choice", loop.choice, "variant and tunables that it starts from");
  f.may("executor", loop.executor, "that measures; left out: the dent that wrote this");
  f.may("parallel", loop.parallel, "candidates at a time; left out: one");
}

void fields(Fields& f, Iteration& iteration) {
  f("iteration", iteration.iteration, "its number, from 1");
  dent::fields(f, iteration.proposal);
  f("choice", iteration.choice, "variant and tunables that are tried");
  f("parent", iteration.parent, "commit of the incumbent that it starts from");
  f.may("patch", iteration.patch, "artifact");
  f.may("again", iteration.again,
        "it has begun before, and was proved better than an incumbent that is none any more");
}

void fields(Fields& f, Outcome& outcome) {
  f("iteration", outcome.iteration, "its number");
  dent::fields(f, outcome.outcome);
  f.may("commit", outcome.commit, "when it was kept");
  f.may("overhead_s", outcome.overhead_s, "of elapsed_s, neither compiling nor running kernels");
}

void fields(Fields& f, Standing& standing) {
  f("of", standing.of, "whose speed over the baseline it is");
  f("step", standing.step, "that measured it");
  f("ratio", standing.ratio, "geometric mean over shapes");
  f("shapes", standing.shapes, "each shape against the baseline");
}

void fields(Fields& f, LoopEnd& end) {
  f("ending", end.ending, "why iterations ended");
  f("reason", end.reason, "one line, for people");
  f("held_out", end.held_out, "shapes that no proposer saw, for the last check");
}

void fields(Fields& f, BudgetMark& mark) {
  f("part", mark.part, "of the budget");
  f("mark", mark.mark, "share that was warned of: 0.5, 0.8");
  f("share", mark.share, "that was spent then");
}

void fields(Fields& f, PatternTried& tried) {
  f("pattern", tried.pattern, "its name");
  f.may("bottleneck", tried.bottleneck, "that it was tried against");
  f("outcome", tried.outcome, "what became of it");
  f("gain", tried.gain, "over the kernel before, where it was measured");
}

}  // namespace dent::record
