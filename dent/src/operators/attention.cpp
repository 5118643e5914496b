// SPDX-License-Identifier: MIT
#include "operators/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace dent {

namespace {

const std::vector<std::string> kQueries{"B", "H", "Sq", "D"}, kKeys{"B", "Hkv", "Skv", "D"},
    kRows{"B", "H", "Sq"};

// The common part of both directions.
Operator attention(const char* direction, const AttentionOptions& options) {
  if (!is_floating(options.dtype) || options.dtype == DType::fp64) {
    throw Error(ErrorCode::invalid, fmt::format("attention.{}: dtype is {}; accepted are fp32, fp16, bf16",
                                                direction, name(options.dtype)));
  }
  Operator op;
  op.name = fmt::format("attention.{}", direction);
  op.family = Family::attention;
  op.inputs = {
      {"q", options.dtype, kQueries, {}}, {"k", options.dtype, kKeys, {}}, {"v", options.dtype, kKeys, {}}};
  op.parameters = {{"B", 1}, {"H", 1}, {"D", 64}, {"causal", options.causal ? 1.0 : 0.0}};
  op.reference = {.kind = Reference::Kind::attention, .entry = op.name, .library = {}, .source = {}};
  op.tolerance.slack = 4;  // the bound is tight for fp32 arithmetic; a fast exp may be a few units worse
  return op;
}

}  // namespace

Operator attention_forward(const AttentionOptions& options) {
  Operator op = attention("forward", options);
  op.outputs = {{"out", options.dtype, kQueries, {}}};
  if (options.lse) op.outputs.push_back({"lse", DType::fp32, kRows, {}});
  op.flops = "4*B*H*pairs*D";
  return op;
}

Operator attention_backward(const AttentionOptions& options) {
  Operator op = attention("backward", options);
  // About the log-sum-exp of a few hundred keys, so that rows of P sum to about 1.
  const Fill lse{.kind = Fill::Kind::normal, .low = 6, .high = 0.5};
  op.inputs.push_back({"out", options.dtype, kQueries, {}});
  op.inputs.push_back({"lse", DType::fp32, kRows, lse});
  op.inputs.push_back({"dout", options.dtype, kQueries, {}});
  op.outputs = {{"dq", options.dtype, kQueries, {}},
                {"dk", options.dtype, kKeys, {}},
                {"dv", options.dtype, kKeys, {}}};
  op.flops = "10*B*H*pairs*D";
  return op;
}

void complete_attention_numbers(Numbers& numbers) {
  const auto given = [&](const char* name) { return numbers.count(name) > 0; };
  const auto take = [&](const char* name, const char* from) {
    if (given(name)) return;
    if (!given(from)) {
      throw Error(ErrorCode::invalid,
                  std::string("attention: a shape gives neither ") + name + " nor " + from,
                  "give S, or Sq and Skv");
    }
    numbers[name] = numbers[from];
  };
  take("Sq", "S");
  take("Skv", "S");
  take("Hkv", "H");
  if (std::fmod(numbers["H"], numbers["Hkv"]) != 0) {
    throw Error(ErrorCode::invalid,
                fmt::format("attention: a shape has H = {} and Hkv = {}; H must be a multiple of Hkv",
                            numbers["H"], numbers["Hkv"]));
  }
  if (!given("scale")) numbers["scale"] = 1 / std::sqrt(numbers["D"]);
  const double sq = numbers["Sq"];
  const double skv = numbers["Skv"];
  const double rows = std::min(sq, skv);  // these rows see a triangle of keys; all rows see earlier keys
  numbers["pairs"] = numbers["causal"] == 0 ? sq * skv : rows * (rows + 1) / 2 + sq * std::max(0.0, skv - sq);
}

}  // namespace dent
