// SPDX-License-Identifier: MIT
// With w_ij the softmax weights of row i, s_ij = scale q_i . k_j, and the row's delta_i = dout_i . out_i:
//   dv_j = sum_i w_ij dout_i
//   ds_ij = w_ij (dout_i . v_j - delta_i + dlse_i)
//   dq_i = scale sum_j ds_ij k_j,   dk_j = scale sum_i ds_ij q_i
// If scores are changed before the softmax (scores.h), s_ij is the changed score, and dq and dk get ds_ij
// times its derivative. A sink's gradient is that of a key whose value is 0, summed over rows; the gradient
// of a bias tensor is ds_ij, summed over the (row, key) pairs that share an element.
#include "reference/backward.h"

#include <algorithm>
#include <cmath>

#include "problem/sequences.h"
#include "reference/attention.h"
#include "reference/bound.h"
#include "reference/dropout.h"
#include "reference/scores.h"
#include "reference/spans.h"
#include "reference/values.h"

namespace flashmoe::reference {
namespace {

// Sums of products that a backend forms in fp32: the value, the magnitude of its terms, and the largest
// effect of errors in the terms.
struct Sums {
  explicit Sums(std::size_t elements) : value(elements, 0), size(elements, 0), error(elements, 0) {}

  void add(std::size_t at, double factor, double factor_error, const double* row, int64_t count) {
    for (int64_t d = 0; d < count; ++d) {
      value[at + d] += factor * row[d];
      size[at + d] += std::abs(factor * row[d]);
      error[at + d] += factor_error * std::abs(row[d]);
    }
  }

  std::vector<double> value, size, error;
};

// The gradient from a sum of `terms` terms in fp32, times `scale`, rounded once more when stored.
Gradient gradient_of(const ForwardProblem& p, const Sums& sums, int64_t terms, double scale) {
  const Precision unit = Precision::of(p.dtype);
  Gradient result{sums.value, sums.error};
  for (std::size_t i = 0; i < result.value.size(); ++i) {
    result.value[i] *= scale;
    const double magnitude = std::abs(result.value[i]);
    const double exact = std::abs(scale) * (sums.error[i] + kUnit * sum_roundings(terms) * sums.size[i]) +
                         2 * kUnit * magnitude + sum_roundings(terms) * 0x1p-149;
    result.bound[i] = exact + unit.output * (magnitude + exact) + unit.output_smallest;
  }
  return result;
}

// Results of the forward that the backward uses, and how far a backend's own may be from them.
struct Forward {
  std::vector<double> out, out_error;  // [B, Hq, Sq, D]
  std::vector<double> lse, lse_error;  // [B, Hq, Sq]
};

Forward computed(const ForwardProblem& p, const BackwardInputs& inputs, int64_t first) {
  ForwardArgs args;
  args.q = inputs.q;
  args.k = inputs.k;
  args.v = inputs.v;
  args.spans = inputs.spans;
  args.scores = inputs.scores;
  const ForwardResult result = attention_forward(p, args, first);
  Forward forward{.out = result.out, .out_error = {}, .lse = result.lse, .lse_error = {}};
  for (std::size_t i = 0; i < result.out.size(); ++i) forward.out_error.push_back(output_bound(p, result, i));
  for (std::size_t i = 0; i < result.lse.size(); ++i) forward.lse_error.push_back(lse_bound(result, i));
  return forward;
}

Forward given(const ForwardProblem& p, const BackwardInputs& inputs) {
  Forward forward;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      const std::vector<double> head = values(*inputs.out, b, h);
      forward.out.insert(forward.out.end(), head.begin(), head.end());
    }
  }
  forward.lse.assign(inputs.lse, inputs.lse + p.batch * p.q_heads * p.q_rows);
  forward.out_error.assign(forward.out.size(), 0);
  forward.lse_error.assign(forward.lse.size(), 0);
  return forward;
}

// One query head, and the sums that its rows add to.
struct QueryHead {
  const ForwardProblem& p;
  const Forward& forward;
  std::vector<double> q, k, v, dout;
  std::size_t first_row;  // first row of this head in forward's arrays
  std::size_t first_key;  // first key of its K/V head in dk and dv
  const float* dlse;      // of this head; null: zeros
  EntrySpans spans;
  const Scores& scores;
  int64_t batch, head;
  int64_t number;  // index of the head over all batch entries or sequences
  std::optional<std::array<int64_t, 4>> pair_strides;

  void add_row(int64_t i, Sums& dq, Sums& dk, Sums& dv, Sums& dsinks, Sums& dpairs) const;
};

double dot(const double* x, const double* y, int64_t count, double& size) {
  double sum = 0;
  size = 0;
  for (int64_t d = 0; d < count; ++d) {
    sum += x[d] * y[d];
    size += std::abs(x[d] * y[d]);
  }
  return sum;
}

void QueryHead::add_row(int64_t i, Sums& dq, Sums& dk, Sums& dv, Sums& dsinks, Sums& dpairs) const {
  const int64_t dim = p.head_dim;
  const std::size_t row = first_row + static_cast<std::size_t>(i);
  const double lse = forward.lse[row];
  if (std::isinf(lse) && lse < 0) return;
  const Precision unit = Precision::of(p.dtype);
  const double roundings = kUnit * (sum_roundings(dim) + 1);
  const double* q_row = q.data() + i * dim;
  const double* dout_row = dout.data() + i * dim;

  // delta - dlse. A backend uses the stored out, which may be off by the bound of the forward.
  double delta_size = 0;
  double delta = dot(dout_row, forward.out.data() + row * dim, dim, delta_size);
  double delta_error = roundings * delta_size;
  for (int64_t d = 0; d < dim; ++d) delta_error += std::abs(dout_row[d]) * forward.out_error[row * dim + d];
  if (dlse != nullptr) {
    delta -= dlse[i];
    delta_error += kUnit * std::abs(delta);
  }
  // Errors of the stored LSE and of its product with log2(e).
  const double lse_error = forward.lse_error[row] + 2 * kUnit * std::abs(lse);

  const auto relative_error = [&](double size, double score, double weight) {
    if (weight == 0) return 0.0;
    return std::expm1(std::min(logit_error(dim, p.dtype, size, std::abs(lse - score)) + lse_error, 100.0));
  };

  const ScoreRow row_scores(p, scores, batch, head, i);
  const RowDropout dropout(p, number, i);
  if (p.sinks) {
    const double w = std::exp(row_scores.sink() - lse);
    const double error = w * relative_error(std::abs(row_scores.sink()), row_scores.sink(), w);
    const double one = -delta;
    dsinks.add(static_cast<std::size_t>(head), w, error, &one, 1);
    dsinks.error[static_cast<std::size_t>(head)] += (w + error) * delta_error + kUnit * w * std::abs(delta);
  }

  const Range seen = spans.spans.given() ? Range{0, p.kv_rows} : p.visible(i);
  for (int64_t j = seen.begin; j < seen.end; ++j) {
    if (spans.spans.given() && !spans.sees(i, j)) continue;
    double size = 0;
    const double logit = p.scale * dot(q_row, k.data() + j * dim, dim, size);
    const ScoreRow::Changed s = row_scores(j, logit, std::abs(p.scale) * size);
    const double w = std::exp(s.score - lse);
    const double w_error = w * relative_error(s.size, s.score, w) + kSmallestWeight;
    // P is multiplied by the dropout factor before P^T dO.
    const double factor = dropout.factor(j);
    const double by_factor = factor == 1 ? 0 : kUnit;  // rounding of that multiplication
    const double w_rounding = unit.weights * std::max(w, unit.weights_smallest);
    dv.add((first_key + static_cast<std::size_t>(j)) * dim, w * factor,
           (w_error + w_rounding + by_factor * w) * factor, dout_row, dim);

    double dw_size = 0;
    const double dw = factor * dot(dout_row, v.data() + j * dim, dim, dw_size);
    const double centred = dw - delta;
    const double centred_error =
        factor * roundings * dw_size + by_factor * std::abs(dw) + delta_error + kUnit * std::abs(centred);
    const double ds = w * centred * s.derivative;
    // Rounding errors of P times the difference, times the derivative; then of dS as an operand of dS K, dS^T
    // Q.
    const double of_changed =
        (w_error + w_rounding) * (std::abs(centred) + centred_error) + w * centred_error;
    if (pair_strides) {
      const auto& [of_batch, of_head, of_row, of_key] = *pair_strides;
      const double one = 1;
      dpairs.add(static_cast<std::size_t>(batch * of_batch + head * of_head + i * of_row + j * of_key),
                 w * centred, of_changed + kUnit * w * std::abs(centred), &one, 1);
    }
    const double exact = of_changed * (s.derivative + s.derivative_error) +
                         w * std::abs(centred) * (s.derivative_error + (s.derivative == 1 ? 0 : kUnit));
    const double ds_error =
        exact + kUnit * std::abs(ds) + unit.weights * std::max(std::abs(ds) + exact, unit.weights_smallest);
    dq.add(static_cast<std::size_t>(row) * dim, ds, ds_error, k.data() + j * dim, dim);
    dk.add((first_key + static_cast<std::size_t>(j)) * dim, ds, ds_error, q_row, dim);
  }
}

// The rows of one sequence for all heads: dense [Hq, rows].
std::vector<float> rows_of(const float* all, const ForwardProblem& p, const BatchRows& part) {
  std::vector<float> rows;
  for (int64_t h = 0; h < p.q_heads; ++h) {
    const float* head = all + (part.batch * p.q_heads + h) * p.q_rows;
    rows.insert(rows.end(), head + part.rows.begin, head + part.rows.end);
  }
  return rows;
}

Gradient zeros_like(const Tensor& t) {
  const auto elements = static_cast<std::size_t>(t.sizes[0] * t.sizes[1] * t.sizes[2] * t.sizes[3]);
  return {std::vector<double>(elements, 0.0), std::vector<double>(elements, 0.0)};
}

// Copies the gradient of the rows `part` of t to its place in the gradient of t.
void put(const Gradient& of_part, const BatchRows& part, const Tensor& t, Gradient& all) {
  const int64_t count = part.rows.size() * t.sizes[3];
  for (int64_t h = 0; h < t.sizes[1]; ++h) {
    const int64_t to = ((part.batch * t.sizes[1] + h) * t.sizes[2] + part.rows.begin) * t.sizes[3];
    std::copy_n(of_part.value.begin() + h * count, count, all.value.begin() + to);
    std::copy_n(of_part.bound.begin() + h * count, count, all.bound.begin() + to);
  }
}

// Number of elements in the mask gradient with these strides.
std::size_t pair_elements(const ForwardProblem& p, const std::optional<std::array<int64_t, 4>>& strides) {
  if (!strides) return 0;
  const int64_t sizes[] = {p.batch, p.q_heads, p.q_rows, p.kv_rows};
  int64_t last = 0;
  for (std::size_t i = 0; i < 4; ++i) last += std::max<int64_t>(sizes[i] - 1, 0) * (*strides)[i];
  return static_cast<std::size_t>(last + 1);
}

// Adds one sequence's mask gradient to the total.
void add_pairs(const Gradient& of_part, std::size_t first, Gradient& all) {
  for (std::size_t i = 0; i < of_part.value.size() && first + i < all.value.size(); ++i) {
    all.value[first + i] += of_part.value[i];
    all.bound[first + i] += of_part.bound[i] + kUnit * std::abs(of_part.value[i]);
  }
}

BackwardResult differentiate_sequences(const Sequences& sequences, const BackwardInputs& inputs) {
  const ForwardProblem& p = sequences.whole();
  BackwardResult result{zeros_like(inputs.q), zeros_like(inputs.k), zeros_like(inputs.v), {}, {}};
  result.dattn_mask.value.assign(pair_elements(p, inputs.dattn_mask_strides), 0.0);
  result.dattn_mask.bound = result.dattn_mask.value;
  if (p.sinks) {
    result.dsinks.value.assign(static_cast<std::size_t>(p.q_heads), 0.0);
    result.dsinks.bound = result.dsinks.value;
  }
  for (int64_t i = 0; i < sequences.count(); ++i) {
    const Sequence sequence = sequences[i];
    if (sequence.q.rows.size() == 0) continue;
    BackwardInputs alone = inputs;
    if (inputs.scores.alibi_slopes != nullptr)
      alone.scores.alibi_slopes += i * inputs.scores.slopes_batch_stride;
    alone.scores.attn_mask = pairs_of(inputs.scores.attn_mask, sequence.q, sequence.k);
    alone.lengths = {};
    alone.spans = spans_of(inputs.spans, sequence, i);
    alone.q = part_of(inputs.q, sequence.q);
    alone.k = part_of(inputs.k, sequence.k);
    alone.v = part_of(inputs.v, sequence.k);
    alone.dout = part_of(inputs.dout, sequence.q);
    std::vector<float> dlse, lse;
    if (inputs.dlse != nullptr) alone.dlse = (dlse = rows_of(inputs.dlse, p, sequence.q)).data();
    if (inputs.out) {
      alone.out = part_of(*inputs.out, sequence.q);
      alone.lse = (lse = rows_of(inputs.lse, p, sequence.q)).data();
    }
    const BackwardResult one = attention_backward(sequences.problem_of(sequence), alone, i);
    put(one.dq, sequence.q, inputs.q, result.dq);
    put(one.dk, sequence.k, inputs.k, result.dk);
    put(one.dv, sequence.k, inputs.v, result.dv);
    if (inputs.dattn_mask_strides) {
      const auto& strides = *inputs.dattn_mask_strides;
      add_pairs(one.dattn_mask,
                static_cast<std::size_t>(sequence.q.batch * strides[0] + sequence.q.rows.begin * strides[2] +
                                         sequence.k.rows.begin * strides[3]),
                result.dattn_mask);
    }
    for (std::size_t h = 0; h < result.dsinks.value.size(); ++h) {
      result.dsinks.value[h] += one.dsinks.value[h];
      result.dsinks.bound[h] += one.dsinks.bound[h] + kUnit * std::abs(one.dsinks.value[h]);
    }
  }
  return result;
}

}  // namespace

BackwardResult attention_backward(const ForwardProblem& p, const BackwardInputs& inputs, int64_t first) {
  if (inputs.lengths.given()) return differentiate_sequences(Sequences(inputs.lengths, p), inputs);
  const Forward forward = inputs.out ? given(p, inputs) : computed(p, inputs, first);
  const auto q_rows = static_cast<std::size_t>(p.q_rows);
  const auto kv_rows = static_cast<std::size_t>(p.kv_rows);
  const auto q_elements = static_cast<std::size_t>(p.batch * p.q_heads * p.q_rows * p.head_dim);
  const auto kv_elements = static_cast<std::size_t>(p.batch * p.kv_heads * p.kv_rows * p.head_dim);
  Sums dq(q_elements), dk(kv_elements), dv(kv_elements);
  Sums dsinks(static_cast<std::size_t>(p.sinks ? p.q_heads : 0));
  Sums dpairs(pair_elements(p, inputs.dattn_mask_strides));
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.q_heads; ++h) {
      const int64_t kv_head = h / p.group();
      const auto heads_before = static_cast<std::size_t>(b * p.q_heads + h);
      const QueryHead head{.p = p,
                           .forward = forward,
                           .q = values(inputs.q, b, h),
                           .k = values(inputs.k, b, kv_head),
                           .v = values(inputs.v, b, kv_head),
                           .dout = values(inputs.dout, b, h),
                           .first_row = heads_before * q_rows,
                           .first_key = static_cast<std::size_t>(b * p.kv_heads + kv_head) * kv_rows,
                           .dlse = inputs.dlse == nullptr ? nullptr : inputs.dlse + heads_before * q_rows,
                           .spans = {.p = p, .spans = inputs.spans, .batch = b},
                           .scores = inputs.scores,
                           .batch = b,
                           .head = h,
                           .number = (first + b) * p.q_heads + h,
                           .pair_strides = inputs.dattn_mask_strides};
      for (int64_t i = 0; i < p.q_rows; ++i) head.add_row(i, dq, dk, dv, dsinks, dpairs);
    }
  }
  const int64_t rows_per_key = p.group() * p.q_rows;
  int64_t pairs_per_element = 1;
  if (inputs.dattn_mask_strides) {
    const int64_t sizes[] = {p.batch, p.q_heads, p.q_rows, p.kv_rows};
    for (std::size_t i = 0; i < 4; ++i)
      if ((*inputs.dattn_mask_strides)[i] == 0) pairs_per_element *= std::max<int64_t>(sizes[i], 1);
  }
  ForwardProblem in_fp32 = p;  // gradients of scores are fp32, whatever the type of the other tensors
  in_fp32.dtype = DType::fp32;
  return {.dq = gradient_of(p, dq, p.kv_rows, p.scale),
          .dk = gradient_of(p, dk, rows_per_key, p.scale),
          .dv = gradient_of(p, dv, rows_per_key, 1),
          .dsinks = gradient_of(in_fp32, dsinks, p.batch * p.q_rows, 1),
          .dattn_mask = gradient_of(in_fp32, dpairs, pairs_per_element, 1)};
}

}  // namespace flashmoe::reference
