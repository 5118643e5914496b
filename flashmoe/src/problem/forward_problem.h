// SPDX-License-Identifier: MIT
// What is to be computed, without pointers: shapes, type, mask and scale. All planning is a function of this.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "flashmoe/attention.h"

namespace flashmoe {

inline constexpr int64_t kMaxHeadDim = 256;  // of every backend

// Keys, rows or steps [begin, end).
struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// What a row sees, where rows do not follow a rule that holds for all of them.
struct RowRun {
  int32_t begin, end;
};

// Which of Spans a problem has.
struct SpanNames {
  bool documents = false, prefix = false, left_padding = false;
  int64_t chunk = 0;
  int64_t first_keys = 0;
  bool per_entry = false;  // they differ from batch entry to batch entry

  static SpanNames of(const Spans& spans) {
    const bool per_entry = (spans.documents != nullptr && spans.documents_stride != 0) ||
                           spans.prefix != nullptr || spans.left_padding != nullptr;
    return {spans.documents != nullptr,
            spans.prefix != nullptr,
            spans.left_padding != nullptr,
            spans.chunk,
            spans.first_keys,
            per_entry};
  }
  bool given() const { return documents || prefix || left_padding || chunk != 0 || first_keys != 0; }
};

// What is known of Lengths wherever they lie.
struct LengthNames {
  bool given = false;
  bool q_packed = false, k_packed = false;
  int64_t sequences = 0;

  static LengthNames of(const Lengths& lengths) {
    return {lengths.given(), lengths.q_starts != nullptr, lengths.k_starts != nullptr, lengths.sequences};
  }
};

// A gradient of Scores::attn_mask: not wanted; with an element for each pair; or with some that are sums.
enum class PairGradients { none, of_pairs, sums };

// What is known of Scores::attn_mask wherever it lies.
struct PairNames {
  PairType type = PairType::boolean;
  bool per_entry = false, per_head = false;  // it differs from batch entry to batch entry, or head to head
  PairGradients gradients = PairGradients::none;

  static PairNames of(const PairTensor& pairs) {
    return {pairs.type, pairs.strides[0] != 0, pairs.strides[1] != 0};
  }
};

struct ForwardProblem {
  int64_t batch = 1;
  int64_t q_heads = 1;
  int64_t kv_heads = 1;
  int64_t q_rows = 1;    // Sq
  int64_t kv_rows = 1;   // Skv
  int64_t head_dim = 1;  // D
  DType dtype = DType::fp32;
  Mask mask = Mask::none;
  float scale = 1.0F;
  Window window{};
  SpanNames spans{};
  // With lengths, sizes are those of the tensors; `batch` is that of q.
  LengthNames lengths{};
  // With spans, of one sequence: what its rows see, by problem/row_runs.h. Null while that is not known yet.
  const RowRun* rows = nullptr;
  const RowRun* first_keys = nullptr;  // what they see before that; null where that is nothing

  // How scores change (flashmoe::Scores): whether there are slopes and sinks, wherever they lie.
  float softcap = 0;
  bool slopes = false;
  bool sinks = false;
  bool attn_mask = false;
  PairNames pairs{};  // of the attn_mask

  // Whether something happens to scores between q k^T and the softmax. A sink is no such thing: it joins at a
  // row's end.
  bool changes_scores() const { return softcap > 0 || slopes || attn_mask; }

  Dropout dropout{};
  // Whether something happens to pairs of rows and keys beside the softmax of q k^T: only general kernels do
  // that.
  bool changes_pairs() const { return changes_scores() || dropout.p > 0; }

  // What is wanted of the attn_mask's gradient.
  PairGradients pair_gradients(const PairGradient& gradient) const {
    if (gradient.data == nullptr) return PairGradients::none;
    const int64_t sizes[] = {batch, q_heads, q_rows, kv_rows};
    for (std::size_t i = 0; i < 4; ++i)
      if (gradient.strides[i] == 0 && sizes[i] > 1) return PairGradients::sums;
    return PairGradients::of_pairs;
  }

  // Query heads that share one K/V head; 1 where there are no heads.
  int64_t group() const { return kv_heads == 0 ? 1 : q_heads / kv_heads; }

  // The key that stands where query row 0 does; there need not be one.
  int64_t first_position() const { return mask == Mask::causal_top_left ? 0 : kv_rows - q_rows; }
  int64_t keys_behind() const {
    return mask == Mask::none ? window.right : std::min<int64_t>(window.right, 0);
  }

  // What query row i sees, or, while `rows` are not known, would see without spans. Neither end ever falls
  // from row to row.
  Range visible(int64_t q_row) const {
    if (rows != nullptr) return {first_key_of(q_row), rows[q_row].end};
    const int64_t position = q_row + first_position();
    // Compared so that nothing overflows, whatever the window is.
    const int64_t begin = window.left >= position ? 0 : std::min(position - window.left, kv_rows);
    const int64_t behind = keys_behind();
    const int64_t end = behind >= kv_rows - position ? kv_rows : std::max<int64_t>(position + behind + 1, 0);
    return {begin, end};
  }
  Range visible_to_any() const { return {visible(0).begin, visible(q_rows - 1).end}; }
  // Every row sees every key.
  bool sees_all() const { return visible(q_rows - 1).begin == 0 && visible(0).end == kv_rows; }
  // Some row does not see the first keys.
  bool hides_first_keys() const { return visible(q_rows - 1).begin > 0; }

  // Of those, the ones that it does not see all the same: those between the first keys and its own run.
  Range gap(int64_t q_row) const {
    if (!has_first_keys(q_row)) return {};
    return {first_keys[q_row].end, rows[q_row].begin};
  }

  // A problem by mask and window alone that sees every key that this one does, and more: to plan by.
  ForwardProblem hull() const {
    ForwardProblem p = *this;
    p.spans = {};
    p.rows = p.first_keys = nullptr;
    if (spans.first_keys > 0) p.window.left = Window::kUnlimited;
    if (spans.prefix) {
      p.mask = Mask::none;
      p.window = {};  // which counts from other positions under another mask
    }
    return p;
  }

  // The same with no window where none is needed: one that is as wide as the keys, or a causal mask in other
  // words.
  ForwardProblem simplified() const {
    ForwardProblem p = *this;
    if (!hides_first_keys()) p.window.left = Window::kUnlimited;
    if (mask == Mask::none && window.right == 0) p.mask = Mask::causal;
    if (p.mask != Mask::none || visible(0).end == kv_rows) p.window.right = Window::kUnlimited;
    return p;
  }

 private:
  bool has_first_keys(int64_t q_row) const {
    return first_keys != nullptr && first_keys[q_row].begin < first_keys[q_row].end;
  }
  int64_t first_key_of(int64_t q_row) const {
    return has_first_keys(q_row) ? first_keys[q_row].begin : rows[q_row].begin;
  }
};

inline int64_t element_bytes(DType dtype) { return dtype == DType::fp32 ? 4 : 2; }
inline const char* name_of(DType dtype) {
  return dtype == DType::fp32 ? "fp32" : dtype == DType::fp16 ? "fp16" : "bf16";
}
inline const char* name_of(Mask mask) {
  return mask == Mask::none ? "none" : mask == Mask::causal ? "causal" : "causal_top_left";
}

}  // namespace flashmoe
