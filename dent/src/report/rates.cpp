// SPDX-License-Identifier: MIT
#include "report/rates.h"

#include <fmt/format.h>

namespace dent {
namespace {

// Three significant digits for values of at least 1.
std::string digits(double value) {
  return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

}  // namespace

std::string show_bandwidth(const record::Comparison& shape) {
  if (!shape.bytes || shape.candidate_ns <= 0) return {};
  return digits(*shape.bytes / shape.candidate_ns) + " GB/s";  // one byte per nanosecond is 1 GB/s
}

std::string show_flop_rate(const record::Comparison& shape) {
  if (!shape.flops || shape.candidate_ns <= 0) return {};
  const double gflops = *shape.flops / shape.candidate_ns;
  return gflops < 1000 ? digits(gflops) + " GFLOP/s" : digits(gflops / 1000) + " TFLOP/s";
}

std::string show_share_of_floor(const record::Comparison& shape) {
  if (!shape.floor_ns || shape.candidate_ns <= 0) return {};
  return fmt::format("{:.1f} %", 100 * *shape.floor_ns / shape.candidate_ns);
}

std::string show_rates(const record::Comparison& shape) {
  std::string text;
  const std::string share = show_share_of_floor(shape);
  for (const std::string& part : {show_bandwidth(shape), show_flop_rate(shape),
                                  share.empty() ? share : share + " of the device's peak"}) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  }
  return text;
}

}  // namespace dent
