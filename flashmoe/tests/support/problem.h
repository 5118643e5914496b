// SPDX-License-Identifier: MIT
// A forward problem with its data: built in one readable line, run through the API, checked by the oracle.
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

// Tells GoogleTest how to print a type.
inline void PrintTo(DType dtype, std::ostream* out) { *out << name_of(dtype); }

}  // namespace flashmoe

namespace flashmoe::test {

// Memory layouts of a tensor's dimensions.
enum class Layout {
  bhsd,       // dense
  bshd,       // dense, heads inside rows
  padded,     // bhsd with gaps after rows, heads and batches; rows start at odd elements
  reversed,   // negative strides of inputs in batch, heads and rows
  broadcast,  // strides of 0: one K and V for all batch entries and heads, one Q for all batch entries
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
  float spread = 1;  // standard deviation of q and k; 100 gives logits beyond +-1e4, 1e18 gives +-1e37
  std::optional<float> scale{};
  int threads = 0;
  uint64_t seed = 1;
  // Fields of Lengths; empty: not given. `batch` is the number of sequences then.
  std::vector<int32_t> q_starts{}, k_starts{}, q_used{}, k_used{};
  // Fields of Spans; empty: not given. If there are only as many documents as keys, all batch entries share
  // them.
  std::vector<int32_t> documents{}, prefix{}, left_padding{};
  int64_t chunk = 0, first_keys = 0;
  // Fields of Scores.
  float softcap = 0;
  std::vector<float> slopes{};  // empty: none; one per head, or one per head of each batch entry
  std::vector<float> sinks{};   // empty: none
  // A random mask tensor that hides about a third of the pairs; may be shared along dimensions of [B, Hq, Sq,
  // Skv].
  std::optional<PairType> pairs{};
  std::array<bool, 4> pairs_shared{};
  int64_t pairs_step = 1;      // elements from one key to the next
  bool pairs_aligned = false;  // rows begin at multiples of 8 elements
  float pairs_spread = 1;      // standard deviation of the added values
  // Whether a (row, key) pair of [B, Hq, Sq, Skv] is visible; empty: random.
  std::function<bool(int64_t batch, int64_t head, int64_t row, int64_t key)> pairs_shown{};
  Dropout dropout{};
  // Contents of K and V in rows that no query row sees; if not set, random numbers as in all other rows.
  std::optional<float> hidden{};
};

std::string describe(const Shape& shape);

// Owns memory for q, k, v, out and lse. Outputs, and gaps between rows, are poisoned with NaN.
class Problem {
 public:
  explicit Problem(const Shape& shape);
  Problem(const Problem&) = delete;  // args points into the problem's own memory
  Problem& operator=(const Problem&) = delete;

  ForwardArgs args;        // may be changed before run()
  ForwardProblem problem;  // as derived from args by the API's checks

  void run();  // calls attention_forward with a workspace of exactly the requested size
  float out(int64_t b, int64_t h, int64_t s, int64_t d) const;
  float lse(int64_t b, int64_t h, int64_t s) const;

  // Element access, and setting all head_dim elements of a row; values are rounded to the dtype.
  static float get(const Tensor& tensor, int64_t b, int64_t h, int64_t s, int64_t d);
  static void set(const Tensor& tensor, int64_t b, int64_t h, int64_t s, int64_t d, float value);
  static void set_row(const Tensor& tensor, int64_t b, int64_t h, int64_t s, float value);

  // "" if out and lse agree with the oracle and nothing was written between the rows of out; otherwise the
  // number of bad elements, the first one and both values.
  std::string disagreement() const;

  // For comparing with the oracle's result of another problem of this shape.
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
