// SPDX-License-Identifier: MIT
#include "gates/judging/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace dent {
namespace {

// Default tolerance of an element, relative to its value and to the output's size: units in the last place,
// plus, for long sums, units of the accumulator times the square root of their length. Rounding errors of a
// sum of n terms of either sign, added one by one, have a standard deviation of 0.4 sqrt(n) units of the
// result's size; kUnitsOfASum is ten times that.
constexpr double kDefaultUnits = 64;
constexpr double kDefaultByteUnits = 2;  // for types so coarse that 64 units would accept anything
constexpr double kUnitsOfASum = 4;
constexpr double kRelativeFloor = 1e-8;  // added to the denominator of a relative error

double unit_of(DType dtype) {
  switch (dtype) {
    case DType::fp64:
      return 0x1p-53;
    case DType::fp32:
      return 0x1p-24;
    case DType::fp16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    case DType::fp8_e4m3:
      return 0x1p-4;
    case DType::fp8_e5m2:
      return 0x1p-3;
    default:
      return 0;  // integers are exact
  }
}

double default_share(const Tensor& output) {
  if (!is_floating(output.dtype)) return 0;
  const double accumulator = unit_of(output.dtype == DType::fp64 ? DType::fp64 : DType::fp32);
  const double units = bytes_of(output.dtype) == 1 ? kDefaultByteUnits : kDefaultUnits;
  return std::max(units * unit_of(output.dtype), kUnitsOfASum * std::sqrt(output.terms) * accumulator);
}

std::vector<double> bounds_from(const Tolerance& tolerance, const Tensor& output,
                                const std::vector<double>& expected) {
  double squares = 0;
  double finite = 0;
  for (const double value : expected) {
    if (!std::isfinite(value)) continue;
    squares += value * value;
    ++finite;
  }
  const double size = finite == 0 ? 0 : std::sqrt(squares / finite);
  const bool given = tolerance.absolute.has_value() || tolerance.relative.has_value();
  const double by_default = default_share(output);
  const double relative = given ? tolerance.relative.value_or(0) : by_default;
  const double absolute = given ? tolerance.absolute.value_or(0) : by_default * size;
  std::vector<double> bounds;
  for (const double value : expected)
    bounds.push_back(std::isfinite(value) ? absolute + relative * std::abs(value) : 0);
  return bounds;
}

std::string position(const Tensor& tensor, std::size_t element) {
  std::string text;
  for (std::size_t d = tensor.sizes.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(tensor.sizes[d]);
    text = fmt::format("{}{}{}", element % size, text.empty() ? "" : ", ", text);
    element /= size;
  }
  return fmt::format("{}[{}]", tensor.name, text);
}

}  // namespace

Delivered delivered(const Worker& worker, const Problem& problem) {
  Delivered outputs;
  const auto places = result_places(problem.outputs);
  for (std::size_t i = 0; i < problem.compared(); ++i) {
    const std::byte* from = worker.results() + places[i];
    outputs.emplace_back(from, from + problem.outputs[i].bytes());
  }
  return outputs;
}

void Agreement::absorb(const Agreement& other) {
  if (first_bad.empty()) {
    first_bad = other.first_bad;
    first_bad_record = other.first_bad_record;
  }
  const std::size_t total = elements + other.elements;
  if (total > 0) {
    mean_error = (mean_error * static_cast<double>(elements) +
                  other.mean_error * static_cast<double>(other.elements)) /
                 static_cast<double>(total);
  }
  elements = total;
  skipped += other.skipped;
  bad += other.bad;
  unwritten += other.unwritten;
  max_error = std::max(max_error, other.max_error);
  max_relative_error = std::max(max_relative_error, other.max_relative_error);
  if (other.largest_share >= largest_share) {
    largest_share = other.largest_share;
    bound = other.bound;
  }
  zeros_would_pass = zeros_would_pass || other.zeros_would_pass;
}

std::vector<Oracle::Expected> Oracle::expect(const Problem& problem, const protocol::Offsets& offsets) {
  if (!worker_) worker_ = workers_.start_reference(logs_);
  const Operator& op = workers_.project().op;
  const double seconds = 4 * workers_.project().limits.call_seconds;
  const Problem asked = reference_problem(op, problem);
  if (shape_ != problem.shape) {
    auto message = message_for(asked, workers_.pool(), 1, false);
    if (op.reference.kind != Reference::Kind::attention) {
      for (auto& input : message.inputs) {
        if (is_floating(input.tensor.dtype)) input.tensor.dtype = op.reference.dtype;
      }
    }
    worker_->set_problem(message, seconds);
    shape_ = problem.shape;
  }
  double wall_ns = 0;
  worker_->prepare({offsets}, seconds);
  worker_->go(seconds, wall_ns);
  const auto kept = worker_->keep(0, seconds);
  worker_->check_code();
  if (!kept.mismatches.empty()) {
    throw Error(ErrorCode::invalid,
                "the reference returns other outputs than [operator] says: " + kept.mismatches.front(),
                "correct the reference, or outputs under [operator] in dent.toml");
  }
  const Delivered raw = delivered(*worker_, asked);
  const bool with_bounds = op.reference.kind == Reference::Kind::attention;
  std::vector<Expected> expected(problem.compared());
  for (std::size_t i = 0; i < problem.compared(); ++i) {
    const std::size_t count = problem.outputs[i].elements();
    const std::size_t at = with_bounds ? 2 * i : i;
    for (std::size_t e = 0; e < count; ++e) {
      expected[i].values.push_back(load(op.reference.dtype, raw[at].data(), e));
      if (with_bounds) {
        double bound = op.tolerance.slack * load(op.reference.dtype, raw[at + 1].data(), e);
        if (op.tolerance.absolute && std::isfinite(bound)) bound = *op.tolerance.absolute;
        expected[i].bounds.push_back(bound);
      }
    }
    if (!with_bounds) expected[i].bounds = bounds_from(op.tolerance, problem.outputs[i], expected[i].values);
  }
  return expected;
}

Agreement Oracle::judge(const Problem& problem, const CallInputs& inputs, const Delivered& outputs) {
  workers_.inputs().bring_back(problem, inputs);
  const auto expected = expect(problem, inputs.offsets);
  Agreement result;
  for (std::size_t i = 0; i < problem.compared(); ++i) {
    const Tensor& tensor = problem.outputs[i];
    Agreement one;
    bool zeros_pass = true;
    bool all_zero = true;
    double errors = 0;
    for (std::size_t e = 0; e < tensor.elements(); ++e) {
      const double want = expected[i].values[e];
      const double bound = expected[i].bounds[e];
      if (bound == std::numeric_limits<double>::infinity()) {
        ++one.skipped;
        continue;
      }
      ++one.elements;
      if (poisoned(tensor.dtype, outputs[i].data(), e)) ++one.unwritten;
      const double got = load(tensor.dtype, outputs[i].data(), e);
      const double error = got == want ? 0 : std::abs(got - want);  // equal infinities agree
      zeros_pass = zeros_pass && std::abs(want) <= bound;
      all_zero = all_zero && want == 0;
      if (std::isfinite(error)) {
        one.max_error = std::max(one.max_error, error);
        one.max_relative_error = std::max(one.max_relative_error, error / (std::abs(want) + kRelativeFloor));
        errors += error;
        const double share = bound > 0 ? error / bound : (error > 0 ? 1e300 : 0);
        if (share >= one.largest_share) {
          one.largest_share = share;
          one.bound = bound;
        }
      }
      if (!(error <= bound)) {  // true for NaN too
        if (one.bad++ == 0) {
          one.first_bad =
              fmt::format("{} is {}, expected {} +- {:.2g}", position(tensor, e), got, want, bound);
          one.first_bad_record = record::FirstBad{position(tensor, e), {got}, {want}};
        }
      }
    }
    if (one.elements > 0) one.mean_error = errors / static_cast<double>(one.elements);
    one.zeros_would_pass = zeros_pass && !all_zero;
    result.absorb(one);
  }
  return result;
}

}  // namespace dent
