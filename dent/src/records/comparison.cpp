// SPDX-License-Identifier: MIT
#include "records/comparison.h"

#include "base/error.h"

namespace dent {

void fields(Fields& f, Doubt& doubt) {
  f("low", doubt.low, "share by which the ratio may be lower: a factor 1 + this");
  f("high", doubt.high, "share by which the ratio may be higher: a factor 1 + this");
}

void fields(Fields& f, Disturbance& disturbance) {
  f("processors", disturbance.processors, "processors that this process may use");
  f("others", disturbance.others, "average number of processors that other programs used");
  f("waited", disturbance.waited,
    "share of the time in which threads of the two kernels were ready but had no processor");
  f("switches", disturbance.switches, "involuntary context switches of those threads");
}

}  // namespace dent

namespace dent::record {
namespace {

// The values of one side, or an empty list unless every sample has one.
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
    throw Error(ErrorCode::invalid, "a samples record has lists of different lengths");
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
  f("against", samples.against, "what the candidate was compared with");
  f("baseline_ns", samples.baseline_ns, "time of a call of the other side, for each pair");
  f("candidate_ns", samples.candidate_ns, "time of a call of the candidate, for each pair");
  f("candidate_first", samples.candidate_first, "for each pair, 1 if the candidate ran first");
  f("baseline_calls", samples.baseline_calls, "calls of the other side in a batch");
  f("candidate_calls", samples.candidate_calls, "calls of the candidate in a batch");
  f.may("baseline_mhz", samples.baseline_mhz, "the device's clock while the other side ran, for each pair");
  f.may("candidate_mhz", samples.candidate_mhz, "the device's clock while the candidate ran, for each pair");
  f.may("baseline_waited_ns", samples.baseline_waited_ns,
        "part of each time of the other side, at most, in which it waited for a processor; left out if not "
        "known");
  f.may("candidate_waited_ns", samples.candidate_waited_ns,
        "part of each time of the candidate, at most, in which it waited for a processor; left out if not "
        "known");
  f.may("aside", samples.aside, "indices of pairs that were set aside for their clocks");
}

void fields(Fields& f, Clock& clock) {
  f("by", clock.by, "two GPU events around each call, or around calls that follow each other in one graph");
  f("floor_ns", clock.floor_ns, "what this clock reads for an empty kernel; 0: not known");
  f("candidate_host_ns", clock.candidate_host_ns, "host time per call of the candidate");
  f("baseline_host_ns", clock.baseline_host_ns, "host time per call of the other side");
  f("candidate_events_ns", clock.candidate_events_ns,
    "time of a call of the candidate between events, from a few calls");
  f("baseline_events_ns", clock.baseline_events_ns,
    "time of a call of the other side between events, from a few calls");
  f.may("why", clock.why, "why short calls are not timed in a graph");
}

void fields(Fields& f, Comparison& comparison) {
  f("shape", comparison.shape, "name of the shape");
  f("against", comparison.against, "what the candidate was compared with");
  f("verdict", comparison.verdict, "verdict on this shape");
  f("reason", comparison.reason, "reason, one line");
  f("ratio", comparison.ratio,
    "the other side's time divided by the candidate's; left out if there were too few pairs");
  f("baseline_ns", comparison.baseline_ns, "median time of a call of the other side");
  f("candidate_ns", comparison.candidate_ns, "median time of a call of the candidate");
  f("pairs", comparison.pairs, "pairs that were kept");
  f("pairs_aside", comparison.pairs_aside, "pairs that were set aside for their clocks");
  f("clock_mhz", comparison.clock_mhz, "clock that the pairs' clocks were compared with");
  f("stop", comparison.stop, "why sampling ended");
  f("elapsed_s", comparison.elapsed_s, "time of the sampling");
  f("steady", comparison.steady, "whether the warm-up reached a steady state");
  f("warm_up_pairs", comparison.warm_up_pairs, "pairs of the warm-up, which are not counted");
  f("alpha", comparison.alpha, "chance that the interval misses the true ratio");
  f("same_within", comparison.same_within, "share by which ratios may differ from 1 and count as equal");
  f("flops", comparison.flops, "operations of one call, if known");
  f("bytes", comparison.bytes, "bytes that one call has to move");
  f("floor_ns", comparison.floor_ns, "least time of a call at the device's peaks");
  f("doubt", comparison.doubt, "uncertainty that more pairs would not reduce; the interval includes it");
  f("disturbance", comparison.disturbance, "use of the processors by other programs during the measurement");
  f.may("busy", comparison.busy, "whether the machine was busy: the interval is widened by `taken`");
  f("taken", comparison.taken,
    "part of the doubt that is due to other programs; left out if the machine was not busy");
  f.may("too_busy", comparison.too_busy, "whether the busy machine is why there is no verdict");
  f("clock", comparison.clock, "on a GPU: the clock that both sides were timed by");
  f.unless(1.0, "weight", comparison.weight, "weight of the shape in the mean over shapes; left out: 1");
  f.unless(1, "starts", comparison.starts, "starts of both sides that the ratio is over; left out: 1");
}

void fields(Fields& f, Summary& summary) {
  f("verdict", summary.verdict, "verdict over all shapes");
  f("ratio", summary.ratio, "geometric mean over shapes");
  f("shapes", summary.shapes, "number of shapes");
  f("reason", summary.reason, "reason, one line");
  f.may("busy", summary.busy, "whether the machine was busy while a shape was measured");
  f.may("too_busy", summary.too_busy, "whether the busy machine is why there is no verdict");
  f.may("weighted", summary.weighted, "whether shapes have different weights in the mean");
}

void fields(Fields& f, Roofline& roofline) {
  f("device", roofline.device, "name of the device");
  f("peak_gflops", roofline.peak_gflops, "highest rate of arithmetic");
  f("peak_gbs", roofline.peak_gbs, "highest memory bandwidth");
  f("source", roofline.source, "where the peaks are from: a data sheet, or a measurement on this machine");
}

}  // namespace dent::record
