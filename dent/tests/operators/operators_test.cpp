// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "operators/attention.h"
#include "operators/dtype.h"
#include "operators/fill.h"

namespace dent::operators_test {
namespace {

constexpr DType kAll[] = {DType::fp64,    DType::fp32,     DType::fp16,    DType::bf16,
                          DType::int32,   DType::int64,    DType::int8,    DType::uint8,
                          DType::boolean, DType::fp8_e4m3, DType::fp8_e5m2};

bool is_signed(DType dtype) { return dtype != DType::uint8 && dtype != DType::boolean; }

TEST(DTypes, StoreAndLoadSmallWholeNumbersExactly) {
  for (const DType dtype : kAll) {
    std::vector<std::byte> memory(3 * bytes_of(dtype));
    const double value = dtype == DType::boolean ? 1 : is_signed(dtype) ? -96 : 96;
    store(dtype, memory.data(), 1, value);
    EXPECT_EQ(load(dtype, memory.data(), 1), value) << name(dtype);
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
  }
  EXPECT_THROW(parse_dtype("float"), Error);
}

TEST(DTypes, PoisonIsKnownAgainAndIsNaNWhereThereIsOne) {
  for (const DType dtype : kAll) {
    std::vector<std::byte> memory(2 * bytes_of(dtype));
    poison(dtype, memory.data(), 2);
    EXPECT_TRUE(poisoned(dtype, memory.data(), 1)) << name(dtype);
    if (is_floating(dtype)) {
      EXPECT_TRUE(std::isnan(load(dtype, memory.data(), 1))) << name(dtype);
    }
    if (dtype == DType::boolean) {
      EXPECT_GT(load(dtype, memory.data(), 1), 1) << "an output that nobody wrote is neither";
    }
    store(dtype, memory.data(), 1, is_floating(dtype) ? NAN : 0);  // a NaN from arithmetic is not poison
    EXPECT_FALSE(poisoned(dtype, memory.data(), 1)) << name(dtype);
  }
}

// Every finite byte converts to a number and back to the same byte; numbers between two bytes round to
// nearest even.
TEST(DTypes, Fp8IsWhatItsDefinitionSays) {
  for (const DType dtype : {DType::fp8_e4m3, DType::fp8_e5m2}) {
    double before = -1;
    for (int bits = 0; bits < 128; ++bits) {
      const auto byte = static_cast<std::uint8_t>(bits);
      const double value = load(dtype, &byte, 0);
      if (!std::isfinite(value)) continue;
      EXPECT_GT(value, before) << name(dtype) << " " << bits;
      std::uint8_t again = 0;
      store(dtype, &again, 0, value);
      EXPECT_EQ(again, byte) << name(dtype);
      store(dtype, &again, 0, -value);
      EXPECT_EQ(again, byte | 0x80) << name(dtype);
      if (bits > 0) {
        store(dtype, &again, 0, (value + before) / 2);
        EXPECT_EQ(again, bits % 2 == 0 ? bits : bits - 1) << name(dtype) << ": a tie goes to the even one";
        store(dtype, &again, 0, before + 0.51 * (value - before));
        EXPECT_EQ(again, bits) << name(dtype);
      }
      before = value;
    }
    EXPECT_EQ(before, dtype == DType::fp8_e4m3 ? 448 : 57344);
  }
  std::uint8_t byte = 0;
  store(DType::fp8_e4m3, &byte, 0, 1);
  EXPECT_EQ(byte, 0x38);
  store(DType::fp8_e5m2, &byte, 0, 1);
  EXPECT_EQ(byte, 0x3C);
  store(DType::fp8_e4m3, &byte, 0, 465);
  EXPECT_TRUE(std::isnan(load(DType::fp8_e4m3, &byte, 0)));
  store(DType::fp8_e5m2, &byte, 0, -61440);
  EXPECT_EQ(load(DType::fp8_e5m2, &byte, 0), -INFINITY);
}

TEST(Filling, AConstantIsTheSameEverywhereAndMayBeInfinite) {
  for (const DType dtype : kAll) {
    std::vector<std::byte> memory(3 * bytes_of(dtype));
    fill({Fill::Kind::constant, 1, 1}, dtype, memory.data(), 3, 7);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(load(dtype, memory.data(), i), 1) << name(dtype);
    if (!is_floating(dtype) || dtype == DType::fp8_e4m3) continue;  // e4m3 has no infinity
    fill({Fill::Kind::constant, -INFINITY, 0}, dtype, memory.data(), 3, 7);
    EXPECT_EQ(load(dtype, memory.data(), 2), -INFINITY) << name(dtype);
  }
}

// Number of terms in an output element's sum.
TEST(Problems, KnowTheLengthOfTheirSums) {
  Operator op;
  op.reference.kind = Reference::Kind::python;
  op.inputs = {{"a", DType::fp32, {"B", "M", "K"}, {}}, {"b", DType::fp32, {"K", "2*N"}, {}}};
  op.outputs = {{"c", DType::fp32, {"B", "M", "2*N"}, {}}, {"norms", DType::fp32, {"M"}, {}}};
  const Shape shape{"s", {{"B", 2}, {"M", 3}, {"K", 2048}, {"N", 5}}};
  EXPECT_EQ(make_problem(op, shape).outputs[0].terms, 2048);          // only K is in no dimension of c
  EXPECT_EQ(make_problem(op, shape).outputs[1].terms, 2 * 2048 * 5);  // B, K and N are not
  op.outputs.pop_back();
  op.flops = "2*B*M*2*N*K";
  EXPECT_EQ(make_problem(op, shape).outputs[0].terms, 2048);
  op.flops = "B*M*N";  // fewer operations than elements
  EXPECT_EQ(make_problem(op, shape).outputs[0].terms, 1);
  op.reduction = "K/2";
  EXPECT_EQ(make_problem(op, shape).outputs[0].terms, 1024);
}

TEST(Problems, ScratchComesLastAndIsNoTraffic) {
  Operator op;
  op.reference.kind = Reference::Kind::python;
  op.inputs = {{"x", DType::fp32, {"n"}, {}}};
  op.outputs = {{"y", DType::fp32, {"n"}, {}}};
  op.scratch = {{"sums", DType::fp64, {"n", "n"}, {}}};
  const Problem problem = make_problem(op, {"s", {{"n", 8}}});
  ASSERT_EQ(problem.outputs.size(), 2U);
  EXPECT_EQ(problem.compared(), 1U);
  EXPECT_TRUE(problem.outputs[1].scratch);
  EXPECT_EQ(problem.bytes, 64);
}

TEST(Filling, GivesTheSameForASeedAndSomethingElseForAnother) {
  std::vector<float> a(1001), b(1001), c(1001);
  fill({}, DType::fp32, a.data(), a.size(), 7);
  fill({}, DType::fp32, b.data(), b.size(), 7);
  fill({}, DType::fp32, c.data(), c.size(), 8);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

TEST(Filling, HasTheMomentsAndTheRangeThatWereAskedFor) {
  std::vector<double> values(40000);
  fill({Fill::Kind::normal, 3, 2}, DType::fp64, values.data(), values.size(), 1);
  double sum = 0, squares = 0;
  for (const double x : values) sum += x, squares += (x - 3) * (x - 3);
  EXPECT_NEAR(sum / 40000, 3, 0.05);
  EXPECT_NEAR(squares / 40000, 4, 0.15);
  std::vector<std::int32_t> dice(1000);
  fill({Fill::Kind::integers, 1, 6}, DType::int32, dice.data(), dice.size(), 1);
  bool seen[7] = {};
  for (const auto x : dice) {
    ASSERT_GE(x, 1);
    ASSERT_LE(x, 6);
    seen[x] = true;
  }
  for (int x = 1; x <= 6; ++x) EXPECT_TRUE(seen[x]) << x;
}

TEST(AttentionOperator, FillsInWhatFollowsFromTheSizesGiven) {
  const Operator op = attention_forward({.dtype = DType::fp16, .causal = true, .lse = true});
  const Problem problem = make_problem(op, {"x", {{"Sq", 2}, {"Skv", 5}, {"H", 4}, {"Hkv", 2}}});
  EXPECT_EQ(problem.inputs[1].sizes, (std::vector<std::int64_t>{1, 2, 5, 64}));
  EXPECT_EQ(problem.outputs[1].sizes, (std::vector<std::int64_t>{1, 4, 2}));
  EXPECT_EQ(problem.numbers.at("pairs"), 4 + 5);  // the last query sees the last key
  EXPECT_EQ(problem.flops, 4.0 * 4 * 9 * 64);
  EXPECT_EQ(problem.numbers.at("scale"), 0.125);
}

TEST(AttentionOperator, BackwardTakesWhatAForwardLeaves) {
  const Operator op = attention_backward({.dtype = DType::bf16});
  const Problem problem = make_problem(op, {"x", {{"Sq", 2}, {"Skv", 5}, {"H", 4}, {"Hkv", 2}}});
  std::string names;
  for (const Tensor& tensor : problem.inputs) names += tensor.name + " ";
  EXPECT_EQ(names, "q k v out lse dout ");
  EXPECT_EQ(problem.inputs[4].dtype, DType::fp32);
  EXPECT_EQ(problem.inputs[4].sizes, (std::vector<std::int64_t>{1, 4, 2}));
  EXPECT_EQ(problem.outputs[0].sizes, (std::vector<std::int64_t>{1, 4, 2, 64}));
  EXPECT_EQ(problem.outputs[2].sizes, (std::vector<std::int64_t>{1, 2, 5, 64}));
  EXPECT_EQ(problem.flops, 10.0 * 4 * 10 * 64);
}

TEST(AttentionOperator, RefusesSizesThatMakeNoSense) {
  const Operator op = attention_forward({});
  EXPECT_THROW(make_problem(op, {"no S", {{"H", 2}}}), Error);
  EXPECT_THROW(make_problem(op, {"half", {{"S", 1.5}}}), Error);
  EXPECT_THROW(make_problem(op, {"none", {{"S", 0}}}), Error);
  EXPECT_THROW(make_problem(op, {"heads", {{"S", 8}, {"H", 3}, {"Hkv", 2}}}), Error);
  EXPECT_THROW(make_problem(op, {"endless", {{"S", 1e9}}}), Error);
  EXPECT_THROW(attention_forward({.dtype = DType::int32}), Error);
}

}  // namespace
}  // namespace dent::operators_test
