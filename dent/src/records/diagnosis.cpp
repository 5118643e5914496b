// SPDX-License-Identifier: MIT
#include "records/diagnosis.h"

namespace dent {

void fields(Fields& f, Launch& launch) {
  f("kernel", launch.kernel, "its name");
  f("ctas", launch.ctas, "of the launch");
  f("cta_threads", launch.cta_threads, "of a CTA");
  f.may("duration_us", launch.duration_us, "where it was measured");
}

void fields(Fields& f, Diagnosis& d) {
  f.may("bottleneck", d.bottleneck, "its name in the tree; left out when there is no answer");
  f.may("title", d.title, "the same for people");
  f.may("says", d.says, "one line with the numbers in it");
  f.may("phase", d.phase, "of the loop that attends to it");
  f.may("advice", d.advice, "what to look at first");
  f.may("decided", d.decided, "the conditions that decided, with their numbers");
  f.may("runner_up", d.runner_up, "what it would be if this one were not");
  f.may("runner_up_says", d.runner_up_says, "the same for people");
  std::optional<bool> holds;
  if (!d.runner_up.empty()) holds = d.runner_up_holds;
  f("runner_up_holds", holds, "whether its conditions hold too");
  d.runner_up_holds = holds.value_or(false);
  f.may("overturned", d.overturned, "what would have to be different");
  f.may("refusal", d.refusal, "why there is no answer");
  f.may("missing", d.missing, "quantities that an answer would take");
}

}  // namespace dent

namespace dent::record {

void fields(Fields& f, TargetRow& row) {
  f("quantity", row.quantity, "its name");
  f("label", row.label, "the same for people");
  f.may("unit", row.unit, "of the value");
  f("value", row.value, "what was measured");
  f.may("absent", row.absent, "why nothing was");
  f.may("target", row.target, "what a healthy kernel shows");
  f("good", row.good, "whether it does");
}

void fields(Fields& f, PatternEvidence& evidence) {
  f("tries", evidence.tries, "in this project");
  f("kept", evidence.kept, "of them");
  f("failures", evidence.failures, "of them, that failed or lost");
  f("median_gain", evidence.median_gain, "of those that were measured");
}

void fields(Fields& f, PatternTunable& tunable) {
  f("names", tunable.names, "tunables that it moves");
  f("change", tunable.change, "how");
}

void fields(Fields& f, PatternHint& hint) {
  f("pattern", hint.pattern, "its name");
  f("title", hint.title, "the same for people");
  f("fix", hint.fix, "what to do");
  f.may("phase", hint.phase, "of the loop");
  f("why", hint.why, "what it answers to");
  f("expected_gain", hint.expected_gain, "times the speed");
  f("evidence", hint.evidence, "what became of it where it was tried");
  f.may("cost", hint.cost, "what it costs");
  f("tunable", hint.tunable, "how a tunable does it");
  f.may("variants", hint.variants, "variants that do it");
}

void fields(Fields& f, Diagnosis& d) {
  f("shape", d.shape, "name of the shape");
  f("operator", d.op, "what is computed");
  f("family", d.family, "the kind of work that it is");
  f.may("dtypes", d.dtypes, "of its inputs, each once");
  f("tool", d.tool, "that looked");
  f("tree", d.tree, "the decision tree");
  f("device", d.device, "where the kernel runs");
  f.may("arch", d.arch, "compute capability of the GPU: 90");
  f("degraded", d.degraded, "whether counters could not be read");
  f.may("why", d.why, "why not");
  f.may("kernel", d.kernel, "that the quantities are of");
  f.may("limiter", d.limiter, "of its occupancy");
  f.may("launches", d.launches, "of one call");
  f("metrics", d.metrics, "quantities of dent/docs/profile.md: a number, or {absent, why}");
  f("targets", d.targets, "those that have a target");
  f.may("absent", d.absent, "counters that did not come back");
  f.may("notes", d.notes, "for people");
  dent::fields(f, d.finding);
  f("patterns", d.patterns, "that speak to it, the most promising first");
  f("flops", d.flops, "of one call, where it is known");
  f("bytes", d.bytes, "that one call has to move");
  f.may("report", d.report, "artifact: the profiler's own");
  f("tool_s", d.tool_s, "in the profiler's hands");
  f("elapsed_s", d.elapsed_s, "all in all");
}

}  // namespace dent::record
