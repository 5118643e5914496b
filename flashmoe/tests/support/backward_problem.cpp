// SPDX-License-Identifier: MIT
#include "support/backward_problem.h"

#include <limits>
#include <random>
#include <sstream>

#include "support/tensors.h"

namespace flashmoe::test {
namespace {

struct Comparison {
  std::size_t bad = 0;
  std::ostringstream first;

  void add(const char* name, const std::vector<float>& values, const reference::Gradient& expected) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (agrees(values[i], expected.value[i], expected.bound[i])) continue;
      if (bad++ > 0) continue;
      first << name << "[" << i << "] is " << values[i] << ", expected " << expected.value[i] << " within "
            << expected.bound[i];
    }
  }

  void add(const char* name, const Tensor& t, const reference::Gradient& expected) {
    std::size_t i = 0;
    for (int64_t b = 0; b < t.sizes[0]; ++b) {
      for (int64_t h = 0; h < t.sizes[1]; ++h) {
        for (int64_t s = 0; s < t.sizes[2]; ++s) {
          for (int64_t d = 0; d < t.sizes[3]; ++d, ++i) {
            const float actual = Problem::get(t, b, h, s, d);
            if (agrees(actual, expected.value[i], expected.bound[i])) continue;
            if (bad++ > 0) continue;
            first << name << "[" << b << ", " << h << ", " << s << ", " << d << "] is " << actual
                  << ", expected " << expected.value[i] << " within " << expected.bound[i];
          }
        }
      }
    }
  }
};

// Strides and number of elements of a dense gradient of the mask tensor, which has stride 0 in the dimensions
// along which that tensor is shared.
std::pair<std::array<int64_t, 4>, std::size_t> pair_layout(const ForwardArgs& args) {
  const int64_t sizes[] = {args.q.sizes[0], args.q.sizes[1], args.q.sizes[2], args.k.sizes[2]};
  std::array<int64_t, 4> strides{};
  int64_t count = 1;
  for (std::size_t i = 4; i-- > 0;) {
    if (args.scores.attn_mask.strides[i] == 0) continue;
    strides[i] = count;
    count *= sizes[i];
  }
  return {strides, static_cast<std::size_t>(count)};
}

}  // namespace

BackwardProblem::BackwardProblem(const Shape& shape, bool with_dlse) : forward(shape) {
  const ForwardArgs& args = forward.args;
  dout = allocate(dout_, args.q.sizes, shape, Role::q);
  dq = allocate(dq_, args.q.sizes, shape, Role::out);
  dk = allocate(dk_, args.k.sizes, shape, Role::out);
  dv = allocate(dv_, args.v.sizes, shape, Role::out);
  dsinks_.assign(shape.sinks.size(), std::numeric_limits<float>::quiet_NaN());
  if (shape.pairs && *shape.pairs != PairType::boolean)
    dattn_mask_.assign(pair_layout(args).second, std::numeric_limits<float>::quiet_NaN());
  dattn_mask_strides_ = pair_layout(args).first;
  forward.problem.pairs.gradients = forward.problem.pair_gradients(dattn_mask());
  std::mt19937_64 random(shape.seed + 1'000'000);
  fill_normal(dout, 1.0F, random);
  const int64_t batch = args.q.sizes[0];
  const auto rows = static_cast<std::size_t>(batch * shape.q_heads * shape.q_rows);
  if (with_dlse) {
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < rows; ++i) dlse_.push_back(normal(random));
  }
  const reference::ForwardResult exact = forward.oracle();
  std::size_t i = 0;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < shape.q_heads; ++h)
      for (int64_t s = 0; s < shape.q_rows; ++s)
        for (int64_t d = 0; d < shape.head_dim; ++d)
          Problem::set(args.out, b, h, s, d, static_cast<float>(exact.out[i++]));
  for (std::size_t row = 0; row < rows; ++row) args.lse[row] = static_cast<float>(exact.lse[row]);
}

reference::BackwardResult BackwardProblem::oracle() const {
  const ForwardArgs& args = forward.args;
  std::optional<std::array<int64_t, 4>> pair_strides;
  if (!dattn_mask_.empty()) pair_strides = dattn_mask_strides_;
  return reference::attention_backward(forward.problem, {.q = args.q,
                                                         .k = args.k,
                                                         .v = args.v,
                                                         .dout = dout,
                                                         .dlse = dlse(),
                                                         .lengths = args.lengths,
                                                         .spans = args.spans,
                                                         .scores = args.scores,
                                                         .dattn_mask_strides = pair_strides});
}

std::string BackwardProblem::disagreement(const reference::BackwardResult& expected) const {
  for (const std::string& stray :
       {stray_write("dq", dq, dq_), stray_write("dk", dk, dk_), stray_write("dv", dv, dv_)}) {
    if (!stray.empty()) return stray;
  }
  Comparison comparison;
  comparison.add("dq", dq, expected.dq);
  comparison.add("dk", dk, expected.dk);
  comparison.add("dv", dv, expected.dv);
  comparison.add("dsinks", dsinks_, expected.dsinks);
  comparison.add("dattn_mask", dattn_mask_, expected.dattn_mask);
  if (comparison.bad == 0) return "";
  return std::to_string(comparison.bad) + " wrong values; the first: " + comparison.first.str();
}

void BackwardProblem::poison_gradients() {
  poison(dq_, dq.dtype);
  poison(dk_, dk.dtype);
  poison(dv_, dv.dtype);
  dsinks_.assign(dsinks_.size(), std::numeric_limits<float>::quiet_NaN());
  dattn_mask_.assign(dattn_mask_.size(), std::numeric_limits<float>::quiet_NaN());
}

std::vector<std::byte> BackwardProblem::gradient_bytes() const {
  std::vector<std::byte> bytes = dq_;
  bytes.insert(bytes.end(), dk_.begin(), dk_.end());
  bytes.insert(bytes.end(), dv_.begin(), dv_.end());
  return bytes;
}

}  // namespace flashmoe::test
