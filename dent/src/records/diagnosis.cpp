// SPDX-License-Identifier: MIT
#include "records/diagnosis.h"

namespace dent {

void fields(Fields& f, Launch& launch) {
  f("kernel", launch.kernel, "name of the kernel");
  f("ctas", launch.ctas, "number of CTAs in the launch");
  f("cta_threads", launch.cta_threads, "threads per CTA");
  f.may("duration_us", launch.duration_us, "duration, if it was measured");
}

void fields(Fields& f, Diagnosis& d) {
  f.may("bottleneck", d.bottleneck, "its name in the decision tree; left out if there is no answer");
  f.may("title", d.title, "its title, for people");
  f.may("says", d.says, "the finding with its numbers, one line");
  f.may("phase", d.phase, "phase of the loop that deals with it");
  f.may("advice", d.advice, "where to look first");
  f.may("decided", d.decided, "conditions that decided, with their numbers");
  f.may("runner_up", d.runner_up, "bottleneck that would be named instead");
  f.may("runner_up_says", d.runner_up_says, "the runner-up's finding, for people");
  std::optional<bool> holds;
  if (!d.runner_up.empty()) holds = d.runner_up_holds;
  f("runner_up_holds", holds, "whether the runner-up's conditions hold too");
  d.runner_up_holds = holds.value_or(false);
  f.may("overturned", d.overturned, "changes in the numbers that would change the answer");
  f.may("refusal", d.refusal, "why there is no answer");
  f.may("missing", d.missing, "quantities that an answer needs");
}

}  // namespace dent

namespace dent::record {

void fields(Fields& f, TargetRow& row) {
  f("quantity", row.quantity, "name of the quantity");
  f("label", row.label, "its label, for people");
  f.may("unit", row.unit, "unit of the value");
  f("value", row.value, "measured value");
  f.may("absent", row.absent, "why there is no value");
  f.may("target", row.target, "value of a healthy kernel");
  f("good", row.good, "whether the target is met");
}

void fields(Fields& f, PatternEvidence& evidence) {
  f("tries", evidence.tries, "how often it was tried in this project");
  f("kept", evidence.kept, "tries that were kept");
  f("failures", evidence.failures, "tries that failed or were slower");
  f("median_gain", evidence.median_gain, "median gain of the tries that were measured");
}

void fields(Fields& f, PatternTunable& tunable) {
  f("names", tunable.names, "tunables that it changes");
  f("change", tunable.change, "how it changes them");
}

void fields(Fields& f, PatternHint& hint) {
  f("pattern", hint.pattern, "name of the pattern");
  f("title", hint.title, "its title, for people");
  f("fix", hint.fix, "what to do");
  f.may("phase", hint.phase, "phase of the loop");
  f("why", hint.why, "condition that it answers");
  f("expected_gain", hint.expected_gain, "expected factor on the speed");
  f("evidence", hint.evidence, "results of earlier tries");
  f.may("cost", hint.cost, "what it costs");
  f("tunable", hint.tunable, "how tunables implement it");
  f.may("variants", hint.variants, "variants that implement it");
}

void fields(Fields& f, Diagnosis& d) {
  f("shape", d.shape, "name of the shape");
  f("operator", d.op, "the operator");
  f("family", d.family, "family of the operator");
  f.may("dtypes", d.dtypes, "types of its inputs, each once");
  f("tool", d.tool, "profiler that was used");
  f("tree", d.tree, "decision tree that was used");
  f("device", d.device, "device that the kernel runs on");
  f.may("arch", d.arch, "compute capability of the GPU: 90");
  f("degraded", d.degraded, "whether hardware counters could not be read");
  f.may("why", d.why, "why counters could not be read");
  f.may("kernel", d.kernel, "kernel that the quantities describe");
  f.may("limiter", d.limiter, "resource that limits its occupancy");
  f.may("launches", d.launches, "launches of one call");
  f("metrics", d.metrics, "quantities of dent/docs/profile.md: a number, or {absent, why}");
  f("targets", d.targets, "quantities that have a target");
  f.may("absent", d.absent, "counters that the profiler did not return");
  f.may("notes", d.notes, "notes, for people");
  dent::fields(f, d.finding);
  f("patterns", d.patterns, "patterns that apply, the most promising first");
  f("flops", d.flops, "operations of one call, if known");
  f("bytes", d.bytes, "bytes that one call has to move");
  f.may("report", d.report, "artifact: the profiler's own report");
  f("tool_s", d.tool_s, "time in the profiler");
  f("elapsed_s", d.elapsed_s, "total time");
}

}  // namespace dent::record
