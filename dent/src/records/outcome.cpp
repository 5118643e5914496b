// SPDX-License-Identifier: MIT
#include "records/outcome.h"

#include <fmt/format.h>

namespace dent {

std::string in_words(const Outcome& outcome) {
  if (outcome.kept) return "kept: " + outcome.reason;
  if (outcome.cause == Cause::busy_machine) return "not kept: " + outcome.reason;
  return fmt::format("dropped at {}: {}", name(outcome.stage), outcome.reason);
}

Ratio mean_of(std::span<const ShapeGain> shapes) {
  std::vector<Ratio> ratios;
  std::vector<double> weights;
  for (const ShapeGain& shape : shapes) {
    ratios.push_back(shape.ratio);
    weights.push_back(shape.weight);
  }
  return geometric_mean(ratios, weights);
}

void fields(Fields& f, ShapeGain& gain) {
  f("shape", gain.shape, "name of the shape");
  f("ratio", gain.ratio, "time of the kernel that it was compared with, divided by the candidate's");
  f("incumbent_ns", gain.incumbent_ns, "median time of a call of the kernel that it was compared with");
  f("candidate_ns", gain.candidate_ns, "median time of a call of the candidate");
  f.unless(1.0, "weight", gain.weight, "weight in the mean over shapes; left out: 1");
  f.may("busy", gain.busy, "whether the machine was busy meanwhile; the interval is widened for it");
}

void fields(Fields& f, Outcome& outcome) {
  f("kept", outcome.kept, "whether it is the new incumbent");
  f("stage", outcome.stage, "stage at which its trial ended");
  f("cause", outcome.cause,
    "cause of a failure, or `busy machine` if the machine was too busy for a verdict; left out if the change "
    "is only not faster");
  f("reason", outcome.reason, "reason, one line");
  f.may("next", outcome.next, "what to do next");
  f.may("last_words", outcome.last_words, "end of the output of the compiler or the worker");
  f("gain", outcome.gain, "gain over the incumbent, geometric mean over shapes");
  f.may("shapes", outcome.shapes, "gain on each shape");
  f.may("build_s", outcome.build_s, "time of compiling");
  f.may("kernel_s", outcome.kernel_s, "time of running the kernel, the incumbent and the reference");
  f.may("elapsed_s", outcome.elapsed_s, "total time");
}

}  // namespace dent
