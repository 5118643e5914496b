// SPDX-License-Identifier: MIT
// Footprints against the plainest answer: the set of bytes that each view touches.
#include "api/footprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "problem/forward_problem.h"

namespace flashmoe::test::footprint_test {
namespace {

struct Bytes {
  std::set<int64_t> touched;
  bool twice = false;
};

Bytes bytes_of(const Tensor& t) {
  Bytes bytes;
  const auto base = static_cast<int64_t>(reinterpret_cast<std::uintptr_t>(t.data));
  for (int64_t b = 0; b < t.sizes[0]; ++b)
    for (int64_t h = 0; h < t.sizes[1]; ++h)
      for (int64_t s = 0; s < t.sizes[2]; ++s)
        for (int64_t i = 0; i < t.sizes[3] * element_bytes(t.dtype); ++i) {
          const int64_t row =
              (b * t.strides[0] + h * t.strides[1] + s * t.strides[2]) * element_bytes(t.dtype);
          if (!bytes.touched.insert(base + row + i).second) bytes.twice = true;
        }
  return bytes;
}

std::string describe(const Tensor& t) {
  std::string text = "at " + std::to_string(reinterpret_cast<std::uintptr_t>(t.data)) + ", shape and strides";
  for (int i = 0; i < 4; ++i) text += " " + std::to_string(t.sizes[i]) + ":" + std::to_string(t.strides[i]);
  return text;
}

class RandomViews {
 public:
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }

  // Addresses are numbers here; nothing is read.
  Tensor any() {
    Tensor t{reinterpret_cast<void*>(static_cast<std::uintptr_t>(10'000 + 2 * between(0, 60))),
             DType::fp16,
             {between(1, 3), between(1, 3), between(1, 4), between(1, 4)},
             {0, 0, 0, 1}};
    for (int i = 0; i < 3; ++i) t.strides[i] = between(-16, 16);
    return t;
  }

  // A transposed, sliced and perhaps reversed dense tensor.
  Tensor ordinary() {
    Tensor t = any();
    std::array<int, 3> order{0, 1, 2};
    std::shuffle(order.begin(), order.end(), random_);
    int64_t stride = t.sizes[3] + between(0, 3);
    for (int dim : order) {
      t.strides[dim] = between(0, 4) == 0 ? -stride : stride;
      stride = stride * t.sizes[dim] + between(0, 3);
    }
    return t;
  }

 private:
  std::mt19937_64 random_{7};
};

TEST(Footprint, OrdinaryViewsNestAndOnlyViewsWithoutSharedBytesDo) {
  RandomViews views;
  for (int i = 0; i < 5000; ++i) {
    const Tensor ordinary = views.ordinary();
    EXPECT_TRUE(Footprint::of(ordinary).nests()) << describe(ordinary);
    const Tensor any = views.any();
    EXPECT_FALSE(Footprint::of(any).nests() && bytes_of(any).twice) << describe(any);
  }
}

TEST(Footprint, OverlapIsExact) {
  RandomViews views;
  int overlapping = 0;
  int interleaved = 0;
  for (int i = 0; i < 20000; ++i) {
    const Tensor a = views.ordinary();
    const Tensor b = i % 2 ? views.any() : views.ordinary();
    const auto in_a = bytes_of(a).touched;
    const auto in_b = bytes_of(b).touched;
    const bool expected =
        std::any_of(in_b.begin(), in_b.end(), [&](int64_t byte) { return in_a.contains(byte); });
    ASSERT_EQ(overlap(Footprint::of(a), Footprint::of(b)), expected) << describe(a) << "\n" << describe(b);
    overlapping += expected;
    interleaved += !expected && *in_a.begin() < *in_b.rbegin() && *in_b.begin() < *in_a.rbegin();
  }
  EXPECT_GT(overlapping, 1000);
  EXPECT_GT(interleaved, 500);
}

TEST(Footprint, DenseViewsAreOneRow) {
  float x[24];
  const Footprint dense = Footprint::of(Tensor::dense(x, DType::fp32, {1, 2, 3, 4}));
  EXPECT_EQ(dense.num_steps, 0);
  EXPECT_EQ(dense.row_bytes, sizeof(x));
  EXPECT_EQ(dense.end() - dense.low, sizeof(x));
}

}  // namespace
}  // namespace flashmoe::test::footprint_test
