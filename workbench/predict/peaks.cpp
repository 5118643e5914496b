// SPDX-License-Identifier: MIT
#include "predict/peaks.h"

#include <fmt/format.h>

#include "device/spec.h"
#include "gates/correctness/correctness.h"

namespace dent {
namespace {

constexpr double kSlack = 1.05;  // boost clocks

}  // namespace

std::optional<Peaks> gpu_peaks(std::string_view name) {
  const flashmoe::device::Spec* best = flashmoe::device::recognise(name);
  if (best == nullptr) return std::nullopt;
  return Peaks{std::string(best->name), 1000 * best->tflops_16bit, best->bandwidth_gbs, "table"};
}

void refuse_the_impossible(GateResult& result, const Problem& problem, const Peaks& peaks, bool flushed) {
  double ns = 0;
  for (const auto& [kind, data] : result.records) {
    if (kind == "comparison") ns = data.at("candidate_ns").get<double>();
  }
  if (!(ns > 0) || result.cause == Cause::cheat) return;
  double input_bytes = 0;
  for (const Tensor& tensor : problem.inputs) input_bytes += static_cast<double>(tensor.bytes());
  std::string evidence;
  if (problem.flops / ns > kSlack * peaks.gflops) {
    evidence = fmt::format("{:.0f} GFLOP/s on a device of {:.0f}", problem.flops / ns, peaks.gflops);
  } else if (flushed && input_bytes / ns > kSlack * peaks.gbs) {
    evidence = fmt::format("inputs read at {:.0f} GB/s on a device of {:.0f}", input_bytes / ns, peaks.gbs);
  }
  if (evidence.empty()) return;
  GateResult refused =
      cheat("faster than the device can be", evidence, "performance/" + problem.shape, problem);
  refused.records.insert(refused.records.end(), result.records.begin(), result.records.end());
  result = std::move(refused);
}

}  // namespace dent
