// SPDX-License-Identifier: MIT
#include "records/loop.h"

namespace dent {

void fields(Fields& f, Choice& choice) {
  f("variant", choice.variant, "chosen variant; empty: [kernel] itself");
  f("tunables", choice.tunables, "tunables that differ from their start values");
}

void fields(Fields& f, Shape& shape) {
  f("name", shape.name, "name of the shape");
  f("sizes", shape.sizes, "its sizes");
  f.unless(1.0, "weight", shape.weight, "weight in the mean over shapes; left out: 1");
}

}  // namespace dent

namespace dent::record {

void fields(Fields& f, Loop& loop) {
  f("base", loop.base, "commit of the user's tree when the loop began");
  f("branch", loop.branch, "branch that kept changes are committed to");
  f("private_repository", loop.private_repository,
    "whether the branch is in dent's own repository, .dent/repository");
  f("harness", loop.harness, "SHA-256 over the files that define correctness and the baseline");
  f("iterations", loop.iterations, "most iterations");
  f("confirmation_alpha", loop.confirmation_alpha, "alpha of the confirmation's interval");
  f("target", loop.target, "wanted speed, as a factor of the baseline's");
  f.may("target_shape", loop.target_shape, "shape that the target is for; left out: the mean");
  f("minutes", loop.minutes, "budget from the command line");
  f("choice", loop.choice, "variant and tunables that it starts from");
  f.may("executor", loop.executor, "executor that measures; left out: the dent that wrote this");
  f.may("parallel", loop.parallel, "candidates measured at a time; left out: one");
}

void fields(Fields& f, Iteration& iteration) {
  f("iteration", iteration.iteration, "its number, from 1");
  dent::fields(f, iteration.proposal);
  f("choice", iteration.choice, "variant and tunables that are tried");
  f("parent", iteration.parent, "commit of the incumbent that the change applies to");
  f.may("patch", iteration.patch, "artifact: the change");
  f.may("again", iteration.again,
        "whether it is tried again because the incumbent that it beat has since been replaced");
}

void fields(Fields& f, Outcome& outcome) {
  f("iteration", outcome.iteration, "number of the iteration");
  dent::fields(f, outcome.outcome);
  f.may("commit", outcome.commit, "commit of the change, if it was kept");
  f.may("overhead_s", outcome.overhead_s, "part of elapsed_s in which neither a compiler nor a kernel ran");
}

void fields(Fields& f, Standing& standing) {
  f("of", standing.of, "kernel whose speed over the baseline this is");
  f("step", standing.step, "step that measured it");
  f("ratio", standing.ratio, "geometric mean over shapes");
  f("shapes", standing.shapes, "each shape against the baseline");
}

void fields(Fields& f, LoopEnd& end) {
  f("ending", end.ending, "why iterations ended");
  f("reason", end.reason, "reason, one line");
  f("held_out", end.held_out, "shapes that no proposer saw, for the last check");
}

void fields(Fields& f, BudgetMark& mark) {
  f("part", mark.part, "part of the budget");
  f("mark", mark.mark, "share at which dent warns: 0.5, 0.8");
  f("share", mark.share, "share that was spent then");
}

void fields(Fields& f, PatternTried& tried) {
  f("pattern", tried.pattern, "name of the pattern");
  f.may("bottleneck", tried.bottleneck, "bottleneck that it was tried against");
  f("outcome", tried.outcome, "result of the try");
  f("gain", tried.gain, "gain over the kernel before, if it was measured");
}

}  // namespace dent::record
