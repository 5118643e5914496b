// SPDX-License-Identifier: MIT
#include "operators/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "operators/attention.h"

namespace dent {
namespace {

constexpr double kMostElements = 1e10;  // larger sizes exceed any machine's memory and are typing errors

Tensor make_tensor(const TensorRule& rule, const Numbers& numbers, const Shape& shape) {
  Tensor tensor{.name = rule.name, .dtype = rule.dtype, .sizes = {}, .fill = rule.fill};
  tensor.constant = rule.constant;
  double elements = 1;
  for (const std::string& dim : rule.dims) {
    const double size = [&] {
      try {
        return evaluate(dim, numbers);
      } catch (const Error& problem) {
        throw Error(ErrorCode::invalid,
                    fmt::format("shape \"{}\", tensor {}: {}", shape.name, rule.name, problem.in_one_line()));
      }
    }();
    elements *= size;
    if (!(size >= 1) || size != std::floor(size) || !(elements <= kMostElements)) {
      throw Error(
          ErrorCode::invalid,
          fmt::format("shape \"{}\": dimension \"{}\" of {} is {}; it must be a whole number of at least 1",
                      shape.name, dim, rule.name, size));
    }
    tensor.sizes.push_back(static_cast<std::int64_t>(size));
  }
  return tensor;
}

// Number of terms in an output element's sum: the operator's `reduction`; otherwise half the operations per
// element, since each term takes a multiplication and an addition; otherwise the product of sizes that inputs
// have and the output has not, such as K in [M, K] x [K, N] -> [M, N].
double terms_of(const TensorRule& output, const Operator& op, const Problem& problem) {
  if (!op.reduction.empty()) return std::max(1.0, evaluate(op.reduction, problem.numbers));
  if (problem.flops > 0) {
    double elements = 0;
    for (const Tensor& tensor : problem.outputs) elements += static_cast<double>(tensor.elements());
    return std::max(1.0, problem.flops / 2 / elements);
  }
  std::set<std::string> kept;
  for (const std::string& dim : output.dims) {
    for (std::string& name : names_in(dim)) kept.insert(std::move(name));
  }
  std::set<std::string> summed;
  for (const TensorRule& input : op.inputs) {
    for (const std::string& dim : input.dims) {
      for (std::string& name : names_in(dim)) {
        if (!kept.contains(name)) summed.insert(std::move(name));
      }
    }
  }
  double terms = 1;
  for (const std::string& name : summed) terms *= problem.numbers.find(name)->second;
  return terms;
}

}  // namespace

std::size_t Tensor::elements() const {
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  return count;
}

std::size_t Problem::compared() const {
  return static_cast<std::size_t>(
      std::count_if(outputs.begin(), outputs.end(), [](const Tensor& output) { return !output.scratch; }));
}

bool Problem::has_made() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const Tensor& input) { return input.made(); });
}

bool Problem::has_sets() const {
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const Tensor& input) { return input.made() && !input.constant; });
}

Problem make_problem(const Operator& op, const Shape& shape) {
  Problem problem;
  problem.shape = shape.name;
  problem.weight = shape.weight;
  problem.numbers = op.parameters;
  for (const auto& [name, value] : shape.sizes) problem.numbers[name] = value;
  if (op.reference.kind == Reference::Kind::attention) complete_attention_numbers(problem.numbers);
  for (const TensorRule& rule : op.inputs)
    problem.inputs.push_back(make_tensor(rule, problem.numbers, shape));
  for (const TensorRule& rule : op.outputs) {
    Tensor& output = problem.outputs.emplace_back(make_tensor(rule, problem.numbers, shape));
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      if (op.inputs[i].name == rule.name) output.updates = static_cast<int>(i);
    }
  }
  if (!op.flops.empty()) problem.flops = evaluate(op.flops, problem.numbers);
  if (!op.bytes.empty()) {
    problem.bytes = evaluate(op.bytes, problem.numbers);
  } else {
    for (const Tensor& tensor : problem.inputs) problem.bytes += static_cast<double>(tensor.bytes());
    for (const Tensor& tensor : problem.outputs) problem.bytes += static_cast<double>(tensor.bytes());
  }
  for (std::size_t i = 0; i < op.outputs.size(); ++i)
    problem.outputs[i].terms = terms_of(op.outputs[i], op, problem);
  for (const TensorRule& rule : op.scratch)
    problem.outputs.emplace_back(make_tensor(rule, problem.numbers, shape)).scratch = true;
  return problem;
}

std::string describe(const Shape& shape) {
  std::string text;
  for (const auto& [name, value] : shape.sizes)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

}  // namespace dent
