// SPDX-License-Identifier: MIT
// Checks every pattern with every kind of operator: no advice may need something that the operator lacks.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "diagnose/diagnosis.h"
#include "operators/family.h"
#include "patterns/match.h"
#include "patterns/pattern.h"

namespace dent::operators_test {
namespace {

struct Computed {
  const char* op;
  std::vector<DType> dtypes;
};

const std::vector<Computed>& computed() {
  static const std::vector<Computed> kAll{{"attention.forward", {DType::fp16}},
                                          {"attention.forward", {DType::fp32}},
                                          {"hgemm", {DType::fp16}},
                                          {"matmul", {DType::bf16}},
                                          {"sgemm", {DType::fp32}},
                                          {"dgemm", {DType::fp64}},
                                          {"linear", {DType::fp32, DType::int32}},
                                          {"softmax", {DType::fp32}},
                                          {"sum", {DType::fp32}},
                                          {"sum", {DType::fp16}},
                                          {"histogram", {DType::int32}},
                                          {"transpose", {DType::fp32}},
                                          {"layernorm", {DType::bf16}},
                                          {"divergent switch", {DType::fp32}},
                                          {"stencil", {DType::fp64}},
                                          {"spmv", {DType::fp32, DType::int32}},
                                          {"kernel", {}}};
  return kAll;
}

Situation situation_of(const Computed& what, DeviceKind device, int arch) {
  return {.bottleneck = "",
          .runner_up = "",
          .quantities = {},
          .device = device,
          .op = what.op,
          .family = family_of(what.op),
          .dtypes = what.dtypes,
          .arch = arch};
}

std::string shown(const Pattern& p) {
  return p.name + ": " + p.title + ". " + p.rule + " " + p.fix + " " + p.cost;
}

// Words that only fit attention, and words that only fit products of 16-bit matrices.
const std::regex kAttention(
    R"(\b(P|Q|K|V|O|S|LSE|log-sum-exp|quer(y|ies)|keys?|heads?|masks?|masked|causal|attention|tokens?)\b)");
const std::regex kSoftmax(R"(\b(softmax|rescales?|exponentials?|exp2?)\b)");
const std::regex kMatrixUnits(
    R"(tensor core|\bw?g?mma\b|ldmatrix|matrix instruction|fragment|16-bit|\bTMA\b|tiles? of both operands)");

bool multiplies_matrices(Family family) { return family == Family::attention || family == Family::matmul; }

bool in_16_bits(const Computed& what) {
  return !what.dtypes.empty() && std::all_of(what.dtypes.begin(), what.dtypes.end(), [](DType type) {
    return type == DType::fp16 || type == DType::bf16;
  });
}

TEST(PatternsForOperators, TellNobodyWhatHeCannotUse) {
  const auto patterns = load_patterns(DENT_PATTERNS, {});
  std::smatch word;
  for (const Pattern& pattern : patterns) {
    if (pattern.bottlenecks.empty() && pattern.conditions.empty()) continue;  // general advice
    const std::string text = shown(pattern);
    for (const Computed& what : computed()) {
      for (const auto& [device, arch] : {std::pair{DeviceKind::cpu, 0}, std::pair{DeviceKind::cuda, 80},
                                         std::pair{DeviceKind::cuda, 89}, std::pair{DeviceKind::cuda, 90}}) {
        const Situation situation = situation_of(what, device, arch);
        if (!applies(pattern, situation)) continue;
        const Family family = situation.family;
        if (family != Family::attention) {
          EXPECT_FALSE(std::regex_search(text, word, kAttention))
              << what.op << " is told \"" << word[0] << "\"\n"
              << text;
        }
        if (family != Family::attention && family != Family::softmax) {
          EXPECT_FALSE(std::regex_search(text, word, kSoftmax))
              << what.op << " is told \"" << word[0] << "\"\n"
              << text;
        }
        if (!multiplies_matrices(family)) {
          EXPECT_FALSE(std::regex_search(text, word, kMatrixUnits))
              << what.op << " is told \"" << word[0] << "\"\n"
              << text;
        }
        if (pattern.name == "tensor-cores" || pattern.name == "wgmma") {
          EXPECT_TRUE(multiplies_matrices(family) && in_16_bits(what)) << what.op << "\n" << text;
        }
      }
    }
  }
}

// Decision trees do not know the operator, so their texts must fit all operators.
TEST(PatternsForOperators, TheTreesAdviceFitsAll) {
  std::smatch word;
  for (const char* file : {"gpu.toml", "degraded.toml", "cpu.toml"}) {
    for (const Bottleneck& b : load_tree(std::string(DENT_TREES) + "/" + file).bottlenecks) {
      for (const std::string& text : {b.title, b.says, b.advice}) {
        EXPECT_FALSE(std::regex_search(text, word, kAttention)) << file << ", " << b.name << ": " << word[0];
      }
      EXPECT_FALSE(std::regex_search(b.advice, word, kMatrixUnits))
          << file << ", " << b.name << ": " << word[0];
      EXPECT_NE(b.phase, "tensor cores") << "fits no sum: " << file << ", " << b.name;
    }
  }
}

std::vector<std::string> told(const char* op, std::vector<DType> dtypes, const char* bottleneck,
                              std::initializer_list<std::pair<const char*, double>> quantities) {
  Situation situation = situation_of({op, std::move(dtypes)}, DeviceKind::cuda, 90);
  situation.bottleneck = bottleneck;
  for (const auto& [name, value] : quantities) situation.quantities.set(name, value);
  const auto patterns = load_patterns(DENT_PATTERNS, {});
  std::vector<std::string> names;
  for (const PatternMatch& found : match(patterns, situation)) names.push_back(found.pattern->name);
  return names;
}

bool has(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(PatternsForOperators, TensorCoresAreForProductsOf16Bits) {
  EXPECT_TRUE(has(told("hgemm", {DType::fp16}, "fma", {{"tensor", 0}}), "tensor-cores"));
  EXPECT_TRUE(has(told("attention.forward", {DType::bf16}, "fma", {{"tensor", 0}}), "tensor-cores"));
  EXPECT_FALSE(has(told("sgemm", {DType::fp32}, "fma", {{"tensor", 0}}), "tensor-cores"));
  EXPECT_FALSE(has(told("sum", {DType::fp16}, "fma", {{"tensor", 0}}), "tensor-cores"));
  EXPECT_FALSE(has(told("hgemm", {}, "fma", {{"tensor", 0}}), "tensor-cores")) << "the types are not known";
}

TEST(PatternsForOperators, TwoCtasOfASumAreToldToBeMoreAndNothingOfKeys) {
  const auto sum = told("sum", {DType::fp32}, "few_ctas", {{"ctas", 2}, {"sms", 132}});
  EXPECT_EQ(sum, std::vector<std::string>{"more-ctas"});
  EXPECT_TRUE(has(told("sgemm", {DType::fp32}, "few_ctas", {{"ctas", 2}, {"sms", 132}}), "split-k"));
  EXPECT_TRUE(
      has(told("attention.forward", {DType::fp16}, "few_ctas", {{"ctas", 2}, {"sms", 132}}), "kv-split"));
}

TEST(PatternsForOperators, APatternMayNameOneOperator) {
  Pattern pattern;
  pattern.operators = {"my sum"};
  EXPECT_TRUE(applies(pattern, situation_of({"my sum", {}}, DeviceKind::cuda, 90)));
  EXPECT_FALSE(applies(pattern, situation_of({"your sum", {}}, DeviceKind::cuda, 90)));
}

}  // namespace
}  // namespace dent::operators_test
