// SPDX-License-Identifier: MIT
// A forward problem with its data: built in one readable line, run on the API, judged by the oracle.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "flashmoe/attention.h"
#include "problem/forward_problem.h"
#include "reference/attention.h"

namespace flashmoe {

// How GoogleTest names a type in its messages.
inline void PrintTo(DType dtype, std::ostream* out) { *out << name_of(dtype); }

}  // namespace flashmoe

namespace flashmoe::test {

// How dimensions lie in memory.
enum class Layout {
  bhsd,       // dense
  bshd,       // dense, heads inside rows
  padded,     // bhsd with gaps after rows, heads and batches; rows start at odd elements
  reversed,   // inputs run backwards: negative strides of batch, heads and rows
  broadcast,  // one K and V for every batch and head, one Q for every batch: strides of 0
};
inline constexpr Layout kLayouts[] = {Layout::bhsd, Layout::bshd, Layout::padded, Layout::reversed,
                                      Layout::broadcast};
inline constexpr DType kDTypes[] = {DType::fp32, DType::fp16, DType::bf16};
inline constexpr Mask kMasks[] = {Mask::none, Mask::causal, Mask::causal_top_left};

struct Shape {
  int64_t batch = 1;
  int64_t q_heads = 1;
  int64_t kv_heads = 1;
  int64_t q_rows = 1;
  int64_t kv_rows = 1;
  int64_t head_dim = 64;
  DType dtype = DType::fp32;
  Mask mask = Mask::none;
  Window window{};
  Layout layout = Layout::bhsd;
  float spread = 1;  // standard deviation of q and k; 100 gives logits of +-1e4 and beyond, 1e18 of +-1e37
  std::optional<float> scale{};
  int threads = 0;
  uint64_t seed = 1;
  // As Lengths has them; empty: not given. `batch` is the number of sequences then.
  std::vector<int32_t> q_starts{}, k_starts{}, q_used{}, k_used{};
  // As Spans has them; empty: not given. As many documents as keys are those of every batch entry.
  std::vector<int32_t> documents{}, prefix{}, left_padding{};
  int64_t chunk = 0, first_keys = 0;
  // As Scores has them.
  float softcap = 0;
  std::vector<float> slopes{};  // empty: none; one for each head, or for each head of each batch entry
  std::vector<float> sinks{};   // empty: none
  // A tensor for every pair, random, about a third of it hidden; shared along some of [B, Hq, Sq, Skv].
  std::optional<PairType> pairs{};
  std::array<bool, 4> pairs_shared{};
  int64_t pairs_step = 1;      // elements from one key to the next
  bool pairs_aligned = false;  // rows begin at multiples of 8 elements
  float pairs_spread = 1;      // of what is added
  // Which pairs of [B, Hq, Sq, Skv] it shows, instead of random ones; empty: those.
  std::function<bool(int64_t batch, int64_t head, int64_t row, int64_t key)> pairs_shown{};
  Dropout dropout{};
  // What K and V hold in rows that no query row sees; without it they hold random numbers as all others do.
  std::optional<float> hidden{};
};

std::string describe(const Shape& shape);

// Owns memory for q, k, v, out and lse. Outputs, and gaps between rows, are poisoned with NaN.
class Problem {
 public:
  explicit Problem(const Shape& shape);
  Problem(const Problem&) = delete;  // args points into the problem's own memory
  Problem& operator=(const Problem&) = delete;

  ForwardArgs args;        // may be edited before run()
  ForwardProblem problem;  // what the checks make of args

  void run();  // attention_forward with a workspace of exactly the size it asks for
  float out(int64_t b, int64_t h, int64_t s, int64_t d) const;
  float lse(int64_t b, int64_t h, int64_t s) const;

  // One element of a tensor, and one row of head_dim equal elements; values are rounded to the dtype.
  static float get(const Tensor& tensor, int64_t b, int64_t h, int64_t s, int64_t d);
  static void set(const Tensor& tensor, int64_t b, int64_t h, int64_t s, int64_t d, float value);
  static void set_row(const Tensor& tensor, int64_t b, int64_t h, int64_t s, float value);

  // "" when out and lse agree with the oracle everywhere, and nothing was written between the rows of out;
  // else the count, the first bad element and both values.
  std::string disagreement() const;

  // The same, with what the oracle said of another problem of this shape.
  reference::ForwardResult oracle() const;
  std::string disagreement(const reference::ForwardResult& expected) const;

  // Raw bytes of out and lse, for bitwise comparisons.
  std::vector<std::byte> output_bytes() const;

 private:
  std::vector<std::byte> q_, k_, v_, out_;
  std::vector<float> lse_;
  std::vector<std::byte> pairs_;
  Shape shape_;
};

}  // namespace flashmoe::test

// Fails with the shape and the first bad element.
#define ASSERT_AGREES_WITH_ORACLE(problem, shape) \
  ASSERT_EQ((problem).disagreement(), "") << ::flashmoe::test::describe(shape)
#define EXPECT_AGREES_WITH_ORACLE(problem, shape) \
  EXPECT_EQ((problem).disagreement(), "") << ::flashmoe::test::describe(shape)
