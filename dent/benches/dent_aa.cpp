// SPDX-License-Identifier: MIT
// Does dent tell the truth? Compares a CPU kernel with itself, which must not come out FASTER or SLOWER, and
// with itself and a planted slowdown, which must come out SLOWER.
//
//   dent_bench aa [--comparisons 100] [--slowdown 0.03] [--time-box 3] [--json FILE]
//
// The kernel is a chain of multiply-adds over a small array; the slowdown is so many more of the same, so
// that it is planted in the work and not in the clock. Exit code 0: at most 5 in 100 wrong of either kind.
#include "dent_bench.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "measure/sampler.h"

namespace {

using namespace dent;

struct Options {
  int comparisons = 100;
  double slowdown = 0.03;
  double time_box_s = 3;
  std::string json;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 2; i + 1 < argc; i += 2) {
    const std::string key = argv[i], value = argv[i + 1];
    if (key == "--comparisons")
      options.comparisons = std::stoi(value);
    else if (key == "--slowdown")
      options.slowdown = std::stod(value);
    else if (key == "--time-box")
      options.time_box_s = std::stod(value);
    else if (key == "--json")
      options.json = value;
    else
      throw std::invalid_argument("unknown option " + key);
  }
  return options;
}

volatile float sink;

// Takes `rounds` passes over the array; about 1 us a pass.
void kernel(std::vector<float>& values, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (float& value : values) value = value * 0.999f + 0.001f;
  }
  sink = values[0];
}

TimedRun timed(int rounds) {
  auto values = std::vector<float>(4096, 1.5f);
  return [rounds, values](int calls) mutable {
    const auto begin = std::chrono::steady_clock::now();
    for (int call = 0; call < calls; ++call) kernel(values, rounds);
    return Timing{std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count()};
  };
}

struct Tally {
  std::map<std::string, int> verdicts;
  std::vector<double> centres;
  double seconds = 0;
  long pairs = 0;
  int of(SpeedVerdict verdict) const {
    const auto found = verdicts.find(std::string(name(verdict)));
    return found == verdicts.end() ? 0 : found->second;
  }
};

constexpr int kRounds = 200;

Tally compare_many(const Options& options, int candidate_rounds, const char* title) {
  Tally tally;
  SamplingPolicy policy;
  policy.time_box_s = options.time_box_s;
  for (int i = 0; i < options.comparisons; ++i) {
    policy.seed = static_cast<std::uint64_t>(i) + 1;
    // Both sides get arrays of their own each time, as two workers would.
    const Sampling sampling = sample_side_by_side(timed(kRounds), timed(candidate_rounds), policy);
    ++tally.verdicts[std::string(name(sampling.comparison.verdict))];
    if (sampling.comparison.ratio) tally.centres.push_back(sampling.comparison.ratio->centre);
    tally.seconds += sampling.elapsed_s;
    tally.pairs += static_cast<long>(sampling.pairs.size());
    fmt::print(stderr, "\r{}: {} of {}", title, i + 1, options.comparisons);
  }
  fmt::print(stderr, "\n");
  return tally;
}

nlohmann::json show(const char* title, const Tally& tally) {
  fmt::print("{:<28}", title);
  nlohmann::json json;
  for (auto verdict :
       {SpeedVerdict::faster, SpeedVerdict::slower, SpeedVerdict::same, SpeedVerdict::ambiguous}) {
    fmt::print("  {} {:>3}", name(verdict), tally.of(verdict));
    json[std::string(name(verdict))] = tally.of(verdict);
  }
  fmt::print("   {:.2f} s, {} pairs each\n", tally.seconds / static_cast<double>(tally.centres.size()),
             tally.pairs / static_cast<long>(tally.centres.size()));
  json["centres"] = tally.centres;
  json["seconds"] = tally.seconds;
  json["pairs"] = tally.pairs;
  return json;
}

}  // namespace

namespace dent::bench {

int aa(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const int slower_rounds = static_cast<int>(std::lround(kRounds * (1 + options.slowdown)));
  const Tally same = compare_many(options, kRounds, "the same kernel");
  const Tally slower = compare_many(options, slower_rounds, "with the slowdown");
  nlohmann::json json{{"comparisons", options.comparisons}, {"slowdown", options.slowdown}};
  json["same"] = show("the same kernel twice:", same);
  json["slower"] = show(fmt::format("{:.1f} % slower:", 100 * options.slowdown).c_str(), slower);
  if (!options.json.empty()) std::ofstream(options.json) << json.dump(1) << '\n';
  const int wrong = same.of(SpeedVerdict::faster) + same.of(SpeedVerdict::slower);
  const int missed = options.comparisons - slower.of(SpeedVerdict::slower);
  const double most = 0.05 * options.comparisons;
  fmt::print("wrong claims {} and misses {} of {}; at most {:.0f} of each are good\n", wrong, missed,
             options.comparisons, most);
  return wrong <= most && missed <= most ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace dent::bench
