// SPDX-License-Identifier: MIT
#include "operators/attention_forward.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace dent {

Operator attention_forward(const AttentionOptions& options) {
  if (!is_floating(options.dtype) || options.dtype == DType::fp64) {
    throw Error(ErrorCode::invalid, "attention.forward: dtype is " + std::string(name(options.dtype)) +
                                        "; accepted are fp32, fp16, bf16");
  }
  Operator op;
  op.name = "attention.forward";
  op.family = Family::attention;
  op.inputs = {{"q", options.dtype, {"B", "H", "Sq", "D"}, {}},
               {"k", options.dtype, {"B", "Hkv", "Skv", "D"}, {}},
               {"v", options.dtype, {"B", "Hkv", "Skv", "D"}, {}}};
  op.outputs = {{"out", options.dtype, {"B", "H", "Sq", "D"}, {}}};
  if (options.lse) op.outputs.push_back({"lse", DType::fp32, {"B", "H", "Sq"}, {}});
  op.parameters = {{"B", 1}, {"H", 1}, {"D", 64}, {"causal", options.causal ? 1.0 : 0.0}};
  op.reference = {.kind = Reference::Kind::attention, .entry = {}, .library = {}, .source = {}};
  op.tolerance.slack = 4;  // the bound is tight for fp32 arithmetic; a quick exp may be a few units worse
  op.flops = "4*B*H*pairs*D";
  return op;
}

void complete_attention_numbers(Numbers& numbers) {
  const auto given = [&](const char* name) { return numbers.count(name) > 0; };
  const auto take = [&](const char* name, const char* from) {
    if (given(name)) return;
    if (!given(from)) {
      throw Error(ErrorCode::invalid,
                  std::string("attention.forward: a shape has neither ") + name + " nor " + from,
                  "give S, or Sq and Skv");
    }
    numbers[name] = numbers[from];
  };
  take("Sq", "S");
  take("Skv", "S");
  take("Hkv", "H");
  if (std::fmod(numbers["H"], numbers["Hkv"]) != 0) {
    throw Error(ErrorCode::invalid, "attention.forward: H is no multiple of Hkv in a shape");
  }
  if (!given("scale")) numbers["scale"] = 1 / std::sqrt(numbers["D"]);
  const double sq = numbers["Sq"];
  const double skv = numbers["Skv"];
  const double rows = std::min(sq, skv);  // that see a triangle of keys; all rows see the keys before it
  numbers["pairs"] = numbers["causal"] == 0 ? sq * skv : rows * (rows + 1) / 2 + sq * std::max(0.0, skv - sq);
}

}  // namespace dent
