// SPDX-License-Identifier: MIT
#include "reference/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "problem/sequences.h"
#include "reference/bound.h"
#include "reference/dropout.h"
#include "reference/scores.h"
#include "reference/spans.h"
#include "reference/values.h"

namespace flashmoe::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One K/V head in float64. K is transposed so that every inner loop below reads consecutive memory.
struct Head {
  std::vector<double> k;  // [D][Skv]
  std::vector<double> v;  // [Skv][D]

  Head(const ForwardProblem& p, const ForwardArgs& args, int64_t b, int64_t h) {
    for (int64_t d = 0; d < p.head_dim; ++d)
      for (int64_t j = 0; j < p.kv_rows; ++j) k.push_back(value(args.k, b, h, j, d));
    for (int64_t j = 0; j < p.kv_rows; ++j)
      for (int64_t d = 0; d < p.head_dim; ++d) v.push_back(value(args.v, b, h, j, d));
  }
};

// For visible keys from `first` on: logit[j] = scale * q . k_j, and size[j] = |scale| * sum_i |q_i k_ij|, the
// magnitude that rounding errors scale with.
void logits_of(const ForwardProblem& p, const std::vector<double>& q, const Head& head, int64_t first,
               std::vector<double>& logit, std::vector<double>& size) {
  const std::size_t keys = logit.size();
  for (int64_t d = 0; d < p.head_dim; ++d) {
    const double* k = head.k.data() + d * p.kv_rows + first;
    for (std::size_t j = 0; j < keys; ++j) {
      logit[j] += q[d] * k[j];
      size[j] += std::abs(q[d] * k[j]);
    }
  }
  for (double& x : logit) x *= p.scale;
  for (double& x : size) x *= std::abs(p.scale);
}

// `hides(j)`: whether a mask hides key `seen.begin + j`, though it lies in the row's range `seen`.
template <class Hides>
void attend_row(const ForwardProblem& p, const std::vector<double>& q, const Head& head,
                const ScoreRow& scores, const RowDropout& dropout, Range seen, const Hides& hides,
                int64_t row, ForwardResult& result) {
  const int64_t dim = p.head_dim;
  std::vector<double> weight(static_cast<std::size_t>(seen.size()), 0.0);  // logits at first
  std::vector<double> error(static_cast<std::size_t>(seen.size()), 0.0);   // sizes of logits at first
  logits_of(p, q, head, seen.begin, weight, error);
  std::vector<char> hidden;
  for (int64_t j = 0; j < seen.size(); ++j) {
    hidden.push_back(hides(seen.begin + j));
    const ScoreRow::Changed changed = scores(seen.begin + j, weight[j], error[j]);
    weight[j] = hidden[j] ? -kInfinity : changed.score;
    error[j] = changed.size;
  }
  // A sink is one more key whose value is 0. Dropped weights, and the scale-up of the others, are applied to
  // values.
  const int64_t keys = seen.size() + (p.sinks ? 1 : 0);
  std::vector<double> values(head.v.begin() + seen.begin * dim, head.v.begin() + seen.end * dim);
  values.resize(static_cast<std::size_t>(keys * dim), 0.0);
  for (int64_t j = 0; j < seen.size(); ++j) {
    const double factor = dropout.factor(seen.begin + j);
    for (int64_t d = 0; d < dim; ++d) values[j * dim + d] *= factor;
  }
  const auto value_of = [&](int64_t j) { return values.data() + j * dim; };
  if (p.sinks) {
    weight.push_back(scores.sink());
    error.push_back(std::abs(scores.sink()));
    hidden.push_back(false);
  }

  double largest = -kInfinity;
  bool sees_something = false;  // a NaN logit counts as visible
  for (double logit : weight) {
    largest = std::max(largest, logit);
    sees_something = sees_something || logit != -kInfinity;
  }
  if (!sees_something) return;  // output 0, LSE -inf

  const Precision unit = Precision::of(p.dtype);
  std::vector<double> subnormal(static_cast<std::size_t>(dim), 0.0);  // sum of v_j^2 of subnormal weights
  double sum = 0;
  double largest_error = 0;
  for (int64_t j = 0; j < keys; ++j) {
    const double gap = largest - weight[j];
    weight[j] = std::exp(-gap);
    sum += weight[j];
    if (hidden[j]) continue;
    if (weight[j] < unit.weights_smallest) {
      for (int64_t d = 0; d < dim; ++d) subnormal[d] += value_of(j)[d] * value_of(j)[d];
    }
    // A key without weight contributes no error; its logit may be -inf.
    error[j] = weight[j] == 0 ? 0 : logit_error(dim, p.dtype, error[j], gap);
    largest_error = std::max(largest_error, error[j]);
  }
  result.lse[row] = largest + std::log(sum);

  double* out = result.out.data() + row * dim;
  double* abs_v = result.weighted_abs_v.data() + row * dim;
  for (int64_t j = 0; j < keys; ++j) {
    if (hidden[j]) continue;
    weight[j] /= sum;
    const double* v = value_of(j);
    for (int64_t d = 0; d < dim; ++d) {
      out[d] += weight[j] * v[d];
      abs_v[d] += weight[j] * std::abs(v[d]);
    }
  }

  // With weights w_j (1 + t_j) before normalisation the output moves by exactly
  //   sum_j w_j t_j (v_j - out) / (1 + sum_j w_j t_j),  where |t_j| <= exp(e_j) - 1 <= e_j exp(max e).
  // So the bound of a row that one key dominates stays tight, however large and inexact its logits are. The
  // output never moves by more than the row's values differ, nor the LSE by more than the largest logit
  // error.
  const double higher_orders = std::exp(std::min(2 * largest_error, 100.0));
  double* moved = result.weight_error.data() + row * dim;
  std::vector<double> apart(static_cast<std::size_t>(dim), 0.0);
  for (int64_t j = 0; j < keys; ++j) {
    if (hidden[j]) continue;
    const double by = weight[j] * error[j] * higher_orders;
    result.logit_error[row] += by;
    const double* v = value_of(j);
    for (int64_t d = 0; d < dim; ++d) {
      const double distance = std::abs(v[d] - out[d]);
      moved[d] += (by + kSmallestWeight) * distance;
      apart[d] = std::max(apart[d], distance);
    }
  }
  result.logit_error[row] = std::min(result.logit_error[row], largest_error);
  for (int64_t d = 0; d < dim; ++d) {
    moved[d] = std::min(moved[d], apart[d]);
    // Each subnormal weight is off by up to half the spacing of subnormals, independently (see
    // sum_roundings).
    moved[d] += 4 * unit.weights * unit.weights_smallest * std::sqrt(subnormal[d]) / sum;
  }
}

// The result for a problem without visible keys.
ForwardResult nothing_seen(const ForwardProblem& p) {
  const auto rows = static_cast<std::size_t>(p.batch * p.q_heads * p.q_rows);
  const std::vector<double> zeros(rows * static_cast<std::size_t>(p.head_dim), 0.0);
  return {.out = zeros,
          .lse = std::vector<double>(rows, -kInfinity),
          .weighted_abs_v = zeros,
          .weight_error = zeros,
          .logit_error = std::vector<double>(rows, 0.0),
          .keys = std::vector<int64_t>(rows, p.kv_rows + (p.sinks ? 1 : 0))};
}

ForwardResult attend_sequences(const Sequences& sequences, const ForwardArgs& args) {
  const ForwardProblem& p = sequences.whole();
  ForwardResult result = nothing_seen(p);
  for (int64_t i = 0; i < sequences.count(); ++i) {
    const Sequence sequence = sequences[i];
    ForwardArgs alone = args;
    alone.lengths = {};
    alone.spans = spans_of(args.spans, sequence, i);
    alone.q = part_of(args.q, sequence.q);
    alone.k = part_of(args.k, sequence.k);
    alone.v = part_of(args.v, sequence.k);
    if (alone.scores.alibi_slopes != nullptr)
      alone.scores.alibi_slopes += i * args.scores.slopes_batch_stride;
    alone.scores.attn_mask = pairs_of(args.scores.attn_mask, sequence.q, sequence.k);
    const ForwardResult one = attention_forward(sequences.problem_of(sequence), alone, i);
    for (int64_t h = 0; h < p.q_heads; ++h) {
      const int64_t rows = sequence.q.rows.size();
      const int64_t from = h * rows;
      const int64_t to = (sequence.q.batch * p.q_heads + h) * p.q_rows + sequence.q.rows.begin;
      const auto copy = [&](const auto& all, auto& into, int64_t row) {
        std::copy_n(all.begin() + from * row, rows * row, into.begin() + to * row);
      };
      copy(one.out, result.out, p.head_dim);
      copy(one.lse, result.lse, 1);
      copy(one.weighted_abs_v, result.weighted_abs_v, p.head_dim);
      copy(one.weight_error, result.weight_error, p.head_dim);
      copy(one.logit_error, result.logit_error, 1);
      copy(one.keys, result.keys, 1);
    }
  }
  return result;
}

}  // namespace

ForwardResult attention_forward(const ForwardProblem& p, const ForwardArgs& args, int64_t first) {
  if (args.lengths.given()) return attend_sequences(Sequences(args.lengths, p), args);
  ForwardResult result = nothing_seen(p);
  std::vector<double> q(static_cast<std::size_t>(p.head_dim));
  for (int64_t b = 0; b < p.batch; ++b) {
    const EntrySpans spans{.p = p, .spans = args.spans, .batch = b};
    for (int64_t kv_head = 0; kv_head < p.kv_heads; ++kv_head) {
      const Head head(p, args, b, kv_head);
      for (int64_t h = kv_head * p.group(); h < (kv_head + 1) * p.group(); ++h) {
        for (int64_t i = 0; i < p.q_rows; ++i) {
          for (int64_t d = 0; d < p.head_dim; ++d) q[d] = value(args.q, b, h, i, d);
          const int64_t row = (b * p.q_heads + h) * p.q_rows + i;
          const ScoreRow scores(p, args.scores, b, h, i);
          const RowDropout dropout(p, (first + b) * p.q_heads + h, i);
          if (args.spans.given()) {
            const auto hides = [&](int64_t j) { return !spans.sees(i, j); };
            attend_row(p, q, head, scores, dropout, {0, p.kv_rows}, hides, row, result);
          } else {
            attend_row(
                p, q, head, scores, dropout, p.visible(i), [](int64_t) { return false; }, row, result);
          }
        }
      }
    }
  }
  return result;
}

double output_bound(const ForwardProblem& p, const ForwardResult& expected, std::size_t i) {
  const Precision unit = Precision::of(p.dtype);
  // P V in fp32 with P rounded; the sum of P and the division by it (three roundings); rounding of the
  // result.
  const int64_t keys = expected.keys[i / static_cast<std::size_t>(p.head_dim)];
  const double sums = kUnit * sum_roundings(keys);
  const double out = std::abs(expected.out[i]);
  const double exact = expected.weight_error[i] + (sums + unit.weights) * expected.weighted_abs_v[i] +
                       (sums + 3 * kUnit) * out;
  const double underflow = sum_roundings(keys) * 0x1p-149;  // products P V below the smallest fp32
  return exact + unit.output * (out + exact) + unit.output_smallest + underflow;
}

double lse_bound(const ForwardResult& expected, std::size_t row) {
  // LSE = (max + log2(sum)) * ln 2: three roundings of values no larger than |lse| + log(Skv), and the
  // roundings of the sum.
  const int64_t keys = std::max<int64_t>(expected.keys[row], 1);
  const double magnitude = std::abs(expected.lse[row]) + std::log(static_cast<double>(keys));
  return expected.logit_error[row] + kUnit * (sum_roundings(keys) + 4 + 4 * magnitude);
}

}  // namespace flashmoe::reference
