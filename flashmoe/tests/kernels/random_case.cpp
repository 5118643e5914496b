// SPDX-License-Identifier: MIT
#include "kernels/random_case.h"

#include <algorithm>
#include <random>

namespace flashmoe::test {
namespace {

using dispatch::ForwardChoice;
using dispatch::ForwardKernel;

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[between(0, static_cast<int64_t>(list.size()) - 1)];
  }

 private:
  std::mt19937_64 random_;
};

// Sizes that break kernels: tiny ones, a tile and its neighbours, and anything.
int64_t rows(Draw& draw) {
  switch (draw.between(0, 3)) {
    case 0:
      return draw.between(1, 20);
    case 1:
      return draw.one_of<int64_t>({16, 32, 64, 128, 192, 256, 512}) + draw.between(-1, 1);
    default:
      return draw.between(1, 900);
  }
}

// Sides that are short, about as long as there are keys, or not limited.
Window window(Draw& draw, int64_t keys) {
  const auto side = [&]() -> int64_t {
    switch (draw.between(0, 3)) {
      case 0:
        return Window::kUnlimited;
      case 1:
        return draw.between(0, 3);
      case 2:
        return draw.between(std::max<int64_t>(keys - 2, 0), keys + 2);
      default:
        return draw.between(0, keys);
    }
  };
  const int64_t left = side();
  return {left, side()};
}

}  // namespace

RandomCase random_case(uint64_t seed) {
  Draw draw(seed);
  RandomCase c;
  Shape& s = c.shape;
  s.seed = seed;
  s.batch = draw.one_of<int64_t>({1, 1, 2, 3});
  s.kv_heads = draw.between(1, 3);
  s.q_heads = s.kv_heads * draw.one_of<int64_t>({1, 1, 2, 3, 4, 7, 8});
  s.head_dim = draw.between(0, 1) ? draw.one_of<int64_t>({32, 64, 96, 128, 192, 256}) : draw.between(1, 256);
  s.dtype = draw.one_of({DType::fp16, DType::bf16, DType::fp16, DType::bf16, DType::fp32});
  s.mask = draw.one_of({Mask::none, Mask::causal, Mask::causal_top_left});
  s.layout = draw.one_of({Layout::bhsd, Layout::bshd, Layout::padded});
  s.spread = draw.one_of({1.0F, 1.0F, 4.0F, 40.0F, 1000.0F, 1e18F});
  if (s.dtype == DType::fp16) s.spread = std::min(s.spread, 1000.0F);  // it ends at 65504
  s.q_rows = rows(draw);
  s.kv_rows = rows(draw);
  // The oracle is slow: keep its work within reason by shortening what is longest.
  while (s.batch * s.q_heads * s.q_rows * s.kv_rows * s.head_dim > 6'000'000) {
    (s.q_rows > s.kv_rows ? s.q_rows : s.kv_rows) /= 2;
    if (s.q_rows < 1) s.q_rows = 1;
    if (s.kv_rows < 1) s.kv_rows = 1;
  }
  // One case in four has few query rows and more keys, as in decoding.
  const bool few_rows = draw.between(0, 3) == 0;
  if (few_rows) {
    const int64_t group = s.q_heads / s.kv_heads;
    s.q_rows = draw.between(1, 8 / group);
    if (draw.between(0, 1)) s.kv_rows = std::min<int64_t>(s.kv_rows * 5, 4000);
  }
  switch (draw.between(0, 3)) {
    case 0:
      c.choice = {.kernel = ForwardKernel::naive};
      break;
    case 1:
      break;  // what dispatch chooses
    default:
      if (s.dtype == DType::fp32) break;
      if (few_rows && s.head_dim <= 128 && s.head_dim % 8 == 0 && s.layout != Layout::padded) {
        c.choice = {.kernel = ForwardKernel::decode_forward};
        if (draw.between(0, 1)) c.choice.num_splits = static_cast<int>(draw.between(1, 4));
        break;
      }
      if (s.kv_rows <= 256 && s.head_dim <= 128 && s.head_dim % 8 == 0 && s.layout != Layout::padded) {
        c.choice = {.kernel = ForwardKernel::small_forward};
        break;
      }
      if (s.head_dim % 8 == 0 && s.layout != Layout::padded && draw.between(0, 1)) {
        c.choice = {.kernel = ForwardKernel::hopper_forward};
        break;
      }
      c.choice = {.kernel = ForwardKernel::ampere_forward,
                  .num_splits = static_cast<int>(draw.between(1, 4))};
  }
  // The scalar kernels walk through every product on the model, one by one.
  if (c.choice.kernel == ForwardKernel::naive || s.dtype == DType::fp32) {
    while (s.batch * s.q_heads * s.q_rows * s.kv_rows * s.head_dim > 1'000'000 && s.q_rows * s.kv_rows > 1)
      (s.q_rows > s.kv_rows ? s.q_rows : s.kv_rows) /= 2;
  }
  // One case in three has a window. Kernels that take none leave it to what dispatch chooses.
  if (draw.between(0, 2) == 0) {
    s.window = window(draw, s.kv_rows);
    const bool aligned = s.head_dim % 8 == 0 && s.layout != Layout::padded;
    const auto asked = c.choice.kernel;
    if (asked && *asked != ForwardKernel::naive && *asked != ForwardKernel::hopper_forward &&
        !(*asked == ForwardKernel::ampere_forward && aligned)) {
      c.choice = {};
    }
  }
  if (draw.between(0, 1)) s.hidden = 6e4F;
  return c;
}

std::string describe(const RandomCase& c) {
  return describe(c.shape) + " kernel=" + (c.choice.kernel ? name_of(*c.choice.kernel) : "any") +
         " splits=" + std::to_string(c.choice.num_splits.value_or(0));
}

}  // namespace flashmoe::test
