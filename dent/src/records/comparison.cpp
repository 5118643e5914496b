// SPDX-License-Identifier: MIT
#include "records/comparison.h"

#include "base/error.h"

namespace dent {

void fields(Fields& f, Doubt& doubt) {
  f("low", doubt.low, "the ratio may be lower by 1 + this");
  f("high", doubt.high, "the ratio may be higher by 1 + this");
}

void fields(Fields& f, Disturbance& disturbance) {
  f("processors", disturbance.processors, "that could be used");
  f("others", disturbance.others, "of them, how many other programs had, on average");
  f("waited", disturbance.waited,
    "share of the time in which threads of the two kernels were ready to run and had none");
  f("switches", disturbance.switches, "times that one of those threads had to give its processor away");
}

}  // namespace dent

namespace dent::record {
namespace {

// Of one side, when every sample has one.
std::vector<double> all_of(const std::vector<Pair>& pairs, Sample Pair::*side,
                           std::optional<double> Sample::*what) {
  std::vector<double> list;
  for (const Pair& pair : pairs) {
    if (!(pair.*side.*what)) return {};
    list.push_back(*(pair.*side.*what));
  }
  return list;
}

}  // namespace

Samples samples_of(const std::string& shape, Against against, const Sampling& sampling) {
  Samples samples{.shape = shape,
                  .against = against,
                  .baseline_ns = {},
                  .candidate_ns = {},
                  .baseline_mhz = all_of(sampling.pairs, &Pair::baseline, &Sample::clock_mhz),
                  .candidate_mhz = all_of(sampling.pairs, &Pair::candidate, &Sample::clock_mhz),
                  .candidate_first = {},
                  .baseline_calls = sampling.baseline_calls,
                  .candidate_calls = sampling.candidate_calls,
                  .baseline_waited_ns = all_of(sampling.pairs, &Pair::baseline, &Sample::waited_ns),
                  .candidate_waited_ns = all_of(sampling.pairs, &Pair::candidate, &Sample::waited_ns),
                  .aside = {sampling.comparison.aside.begin(), sampling.comparison.aside.end()}};
  for (const Pair& pair : sampling.pairs) {
    samples.baseline_ns.push_back(pair.baseline.ns);
    samples.candidate_ns.push_back(pair.candidate.ns);
    samples.candidate_first.push_back(pair.candidate_first ? 1 : 0);
  }
  return samples;
}

Comparison comparison_of(const std::string& shape, Against against, const Sampling& sampling,
                         const SamplingPolicy& policy) {
  const dent::Comparison& c = sampling.comparison;
  return {.shape = shape,
          .against = against,
          .verdict = c.verdict,
          .reason = c.reason,
          .ratio = c.ratio,
          .baseline_ns = c.baseline_ns,
          .candidate_ns = c.candidate_ns,
          .pairs = static_cast<std::int64_t>(c.pairs),
          .pairs_aside = static_cast<std::int64_t>(c.aside.size()),
          .stop = sampling.stop,
          .elapsed_s = sampling.elapsed_s,
          .steady = sampling.steady,
          .warm_up_pairs = sampling.warm_up_pairs,
          .alpha = policy.compare.alpha,
          .same_within = policy.compare.same_within,
          .clock_mhz = c.clock_mhz};
}

ShapeSpeed speed_of(const Comparison& comparison) {
  return {.ratio = comparison.ratio,
          .verdict = comparison.verdict,
          .taken = comparison.taken.value_or(Doubt{}),
          .busy = comparison.busy,
          .weight = comparison.weight};
}

std::string verdict_words(const Comparison& comparison) {
  return in_words(comparison.verdict, comparison.busy, comparison.too_busy);
}

std::vector<Pair> pairs_of(const Samples& samples) {
  const std::size_t count = samples.baseline_ns.size();
  const auto fits = [count](const auto& list) { return list.size() == count; };
  const auto may_fit = [count](const auto& list) { return list.empty() || list.size() == count; };
  if (!fits(samples.candidate_ns) || !fits(samples.candidate_first) || !may_fit(samples.baseline_mhz) ||
      !may_fit(samples.candidate_mhz) || !may_fit(samples.baseline_waited_ns) ||
      !may_fit(samples.candidate_waited_ns)) {
    throw Error(ErrorCode::invalid, "a samples record whose lists differ in length");
  }
  std::vector<Pair> pairs(count);
  for (std::size_t i = 0; i < count; ++i) {
    pairs[i].baseline = {samples.baseline_ns[i], samples.baseline_calls};
    pairs[i].candidate = {samples.candidate_ns[i], samples.candidate_calls};
    pairs[i].candidate_first = samples.candidate_first[i] != 0;
    if (!samples.baseline_mhz.empty()) pairs[i].baseline.clock_mhz = samples.baseline_mhz[i];
    if (!samples.candidate_mhz.empty()) pairs[i].candidate.clock_mhz = samples.candidate_mhz[i];
    if (!samples.baseline_waited_ns.empty()) pairs[i].baseline.waited_ns = samples.baseline_waited_ns[i];
    if (!samples.candidate_waited_ns.empty()) pairs[i].candidate.waited_ns = samples.candidate_waited_ns[i];
  }
  return pairs;
}

void fields(Fields& f, Samples& samples) {
  f("shape", samples.shape, "name of the shape");
  f("against", samples.against, "what the candidate was timed beside");
  f("baseline_ns", samples.baseline_ns, "of the other side: time of a call, one for each pair");
  f("candidate_ns", samples.candidate_ns, "of the candidate: the same");
  f("candidate_first", samples.candidate_first, "1 where the candidate ran first");
  f("baseline_calls", samples.baseline_calls, "in one stretch");
  f("candidate_calls", samples.candidate_calls, "in one stretch");
  f.may("baseline_mhz", samples.baseline_mhz, "the device's clock meanwhile");
  f.may("candidate_mhz", samples.candidate_mhz, "the device's clock meanwhile");
  f.may("baseline_waited_ns", samples.baseline_waited_ns,
        "of each time of the other side, at most: how long it waited for a processor; left out: not known");
  f.may("candidate_waited_ns", samples.candidate_waited_ns, "of the candidate: the same");
  f.may("aside", samples.aside, "pairs that were set aside for their clocks");
}

void fields(Fields& f, Clock& clock) {
  f("by", clock.by,
    "two events of the GPU around each call, or around calls that follow each other in one graph");
  f("floor_ns", clock.floor_ns, "what an empty kernel reads by it; 0: not known");
  f("candidate_host_ns", clock.candidate_host_ns, "of the candidate: what making a call costs the host");
  f("baseline_host_ns", clock.baseline_host_ns, "of the other side: the same");
  f("candidate_events_ns", clock.candidate_events_ns,
    "of the candidate: what a few calls read between events");
  f("baseline_events_ns", clock.baseline_events_ns, "of the other side: the same");
  f.may("why", clock.why, "why short calls are not timed in a graph");
}

void fields(Fields& f, Comparison& comparison) {
  f("shape", comparison.shape, "name of the shape");
  f("against", comparison.against, "what the candidate was timed beside");
  f("verdict", comparison.verdict, "on this shape");
  f("reason", comparison.reason, "one line, for people");
  f("ratio", comparison.ratio,
    "the other side's time over the candidate's; left out when there were too few pairs");
  f("baseline_ns", comparison.baseline_ns, "of the other side: median of a call");
  f("candidate_ns", comparison.candidate_ns, "of the candidate: median of a call");
  f("pairs", comparison.pairs, "that were kept");
  f("pairs_aside", comparison.pairs_aside, "that were set aside for their clocks");
  f("clock_mhz", comparison.clock_mhz, "that they were held against");
  f("stop", comparison.stop, "why sampling ended");
  f("elapsed_s", comparison.elapsed_s, "that sampling took");
  f("steady", comparison.steady, "whether the warm-up reached a steady state");
  f("warm_up_pairs", comparison.warm_up_pairs, "that do not count");
  f("alpha", comparison.alpha, "chance that the interval misses");
  f("same_within", comparison.same_within, "what counts as the same");
  f("flops", comparison.flops, "of one call, where it is known");
  f("bytes", comparison.bytes, "that one call has to move");
  f("floor_ns", comparison.floor_ns, "what the device needs at its peak");
  f("doubt", comparison.doubt, "that no number of pairs makes smaller; the interval has it in it");
  f("disturbance", comparison.disturbance, "by other programs, while it was measured");
  f.may("busy", comparison.busy, "whether the machine was busy: the interval is widened by `taken`");
  f("taken", comparison.taken,
    "the part of the doubt that other programs could have taken from one side alone; left out: the machine "
    "was "
    "not busy");
  f.may("too_busy", comparison.too_busy, "whether that is why nothing could be told");
  f("clock", comparison.clock, "on a GPU: what both sides were timed by");
  f.unless(1.0, "weight", comparison.weight, "of the shape in the mean over shapes; left out: 1");
  f.unless(1, "starts", comparison.starts, "of both sides that the ratio is over; left out: 1");
}

void fields(Fields& f, Summary& summary) {
  f("verdict", summary.verdict, "over all shapes");
  f("ratio", summary.ratio, "geometric mean over shapes");
  f("shapes", summary.shapes, "how many");
  f("reason", summary.reason, "one line, for people");
  f.may("busy", summary.busy, "whether the machine was busy while a shape was measured");
  f.may("too_busy", summary.too_busy, "whether that is why nothing could be told");
  f.may("weighted", summary.weighted, "whether shapes count differently in the mean");
}

void fields(Fields& f, Roofline& roofline) {
  f("device", roofline.device, "its name");
  f("peak_gflops", roofline.peak_gflops, "arithmetic at most");
  f("peak_gbs", roofline.peak_gbs, "memory at most");
  f("source", roofline.source, "a data sheet, or a measurement on this machine");
}

}  // namespace dent::record
