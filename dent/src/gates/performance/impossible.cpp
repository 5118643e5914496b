// SPDX-License-Identifier: MIT
#include "gates/performance/impossible.h"

#include <fmt/format.h>

namespace dent {
namespace {

constexpr double kSlack = 1.05;  // above the data sheet's peaks, for boost clocks

}  // namespace

void refuse_the_impossible(GateResult& result, const Problem& problem, const Peaks& peaks, bool flushed,
                           const std::string& step) {
  const auto* comparison = result.last<record::Comparison>();
  const bool cheated = result.failed() != nullptr && result.failed()->cause == Cause::cheat;
  if (comparison == nullptr || !(comparison->candidate_ns > 0) || cheated) return;
  const double ns = comparison->candidate_ns;
  double input_bytes = 0;
  for (const Tensor& tensor : problem.inputs) input_bytes += static_cast<double>(tensor.bytes());
  std::string evidence;
  if (problem.flops / ns > kSlack * peaks.gflops) {
    evidence = fmt::format("{:.0f} GFLOP/s on a device of {:.0f}", problem.flops / ns, peaks.gflops);
  } else if (flushed && input_bytes / ns > kSlack * peaks.gbs) {
    evidence = fmt::format("inputs read at {:.0f} GB/s on a device of {:.0f}", input_bytes / ns, peaks.gbs);
  }
  if (evidence.empty()) return;
  GateResult refused = cheat(Cheat::beyond_device, evidence, step, problem.shape);
  refused.records.insert(refused.records.end(), result.records.begin(), result.records.end());
  result = std::move(refused);
}

}  // namespace dent
