// SPDX-License-Identifier: MIT
// Timings of one shape against another kernel, and the comparison made from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/busy_rule.h"
#include "measure/disturbance.h"
#include "measure/ratio.h"
#include "measure/sampler.h"
#include "measure/stop_rule.h"
#include "measure/verdict.h"
#include "records/fields.h"
#include "records/timed_by.h"

namespace dent {

// What the candidate was compared with.
enum class Against { baseline, incumbent, start };
inline constexpr Word<Against> kAgainstWords[] = {
    {Against::baseline, "baseline"}, {Against::incumbent, "incumbent"}, {Against::start, "start"}};
constexpr std::span<const Word<Against>> words(Against) { return kAgainstWords; }

// Origin of a device's peaks. Only those from a table are upper bounds.
enum class PeakSource { table, measured };
inline constexpr Word<PeakSource> kPeakSourceWords[] = {{PeakSource::table, "table"},
                                                        {PeakSource::measured, "measured"}};
constexpr std::span<const Word<PeakSource>> words(PeakSource) { return kPeakSourceWords; }

void fields(Fields& f, Doubt& doubt);
void fields(Fields& f, Disturbance& disturbance);

}  // namespace dent

namespace dent::record {

// Raw timings in the order taken.
struct Samples {
  static constexpr std::string_view kKind = "samples";
  std::string shape;
  Against against = Against::baseline;
  std::vector<double> baseline_ns, candidate_ns, baseline_mhz, candidate_mhz;
  std::vector<int> candidate_first;
  int baseline_calls = 1, candidate_calls = 1;
  std::vector<double> baseline_waited_ns, candidate_waited_ns;
  std::vector<std::int64_t> aside;
  bool operator==(const Samples&) const = default;
};

// The clock that both sides were timed by on a GPU.
struct Clock {
  TimedBy by = TimedBy::events;
  double floor_ns = 0;
  double candidate_host_ns = 0, baseline_host_ns = 0;
  double candidate_events_ns = 0, baseline_events_ns = 0;
  std::string why{};
  bool operator==(const Clock&) const = default;
};

struct Comparison {
  static constexpr std::string_view kKind = "comparison";
  std::string shape;
  Against against = Against::baseline;
  SpeedVerdict verdict = SpeedVerdict::ambiguous;
  std::string reason;
  std::optional<Ratio> ratio{};
  double baseline_ns = 0, candidate_ns = 0;
  std::int64_t pairs = 0, pairs_aside = 0;
  StopReason stop = StopReason::time_box;
  double elapsed_s = 0;
  bool steady = false;
  int warm_up_pairs = 0;
  double alpha = 0, same_within = 0;
  std::optional<double> clock_mhz{}, flops{}, bytes{}, floor_ns{};
  std::optional<Doubt> doubt{};
  std::optional<Disturbance> disturbance{};
  bool busy = false, too_busy = false;
  std::optional<Doubt> taken{};
  std::optional<Clock> clock{};
  double weight = 1;
  int starts = 1;
  bool operator==(const Comparison&) const = default;
};

// The result over all shapes.
struct Summary {
  static constexpr std::string_view kKind = "summary";
  SpeedVerdict verdict = SpeedVerdict::ambiguous;
  std::optional<Ratio> ratio{};
  int shapes = 0;
  std::string reason;
  bool busy = false, too_busy = false;
  bool weighted = false;
  bool operator==(const Summary&) const = default;
};

// The device's peaks. Comparisons, with their flops and bytes, are the points below it.
struct Roofline {
  static constexpr std::string_view kKind = "roofline";
  std::string device;
  double peak_gflops = 0, peak_gbs = 0;
  PeakSource source = PeakSource::table;
  bool operator==(const Roofline&) const = default;
};

Samples samples_of(const std::string& shape, Against against, const Sampling& sampling);
Comparison comparison_of(const std::string& shape, Against against, const Sampling& sampling,
                         const SamplingPolicy& policy);
ShapeSpeed speed_of(const Comparison& comparison);
// "FASTER", "FASTER on a busy machine" or "BUSY MACHINE".
std::string verdict_words(const Comparison& comparison);
// Throws Error if the lists differ in length.
std::vector<Pair> pairs_of(const Samples& samples);

void fields(Fields& f, Samples& samples);
void fields(Fields& f, Clock& clock);
void fields(Fields& f, Comparison& comparison);
void fields(Fields& f, Summary& summary);
void fields(Fields& f, Roofline& roofline);

}  // namespace dent::record
