// SPDX-License-Identifier: MIT
// attend_rows: few query rows against many keys, as in decoding. K and V are read once, in place, and widened
// on the way; nothing is packed. Included once per SIMD target. Bound: memory for one or two rows, arithmetic
// from about four on.
#if defined(FLASHMOE_CPU_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHMOE_CPU_ROWS_INL_H_
#undef FLASHMOE_CPU_ROWS_INL_H_
#else
#define FLASHMOE_CPU_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/arena.h"
#include "cpu/exp2-inl.h"
#include "cpu/heads.h"
#include "cpu/row_products-inl.h"
#include "cpu/store_row.h"
#include "cpu/target-inl.h"
#include "cpu/task.h"

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int64_t kRowGroup = 4;  // rows that share one pass over a block of keys
// Keys between two updates of the maxima. V of a block is fetched while K is multiplied, so both fit in the
// first cache. K is not fetched ahead: the hardware does that better.
// (flashmoe/docs/decisions/cpu-backend.md)
template <class T>
inline constexpr int64_t kRowsBlock = 64 / sizeof(T);

// The same where heads are read together: many, so that streams are long.
inline constexpr int64_t kTogetherBlock = 64;

// Sums over keys have three levels, so that none has many terms: the keys of a block, the blocks of a
// stretch, the stretches.
inline constexpr int64_t kStretch = 512;  // keys
static_assert(kStretch % kTogetherBlock == 0 && kTogetherBlock >= kRowsBlock<bf16>);

// The softmax of a row so far.
struct RunningRow {
  RowState before;    // max of all keys so far, sum of the stretches before this one
  float stretch = 0;  // sum of this stretch
};

// One row meets a block: s of the keys that it sees becomes exp2(s - m), what lies before them and behind
// them up to a whole vector 0; `outputs` floats of O are rescaled if m rose.
inline void exponentiate_row(float* HWY_RESTRICT s, Range seen, RunningRow& row, float* HWY_RESTRICT o,
                             int64_t outputs) {
  RowState& state = row.before;
  const Tag d;
  const int64_t n = lanes();
  const int64_t keys = seen.end;
  for (int64_t j = 0; j < seen.begin; ++j) s[j] = -std::numeric_limits<float>::infinity();
  for (int64_t j = keys; j < round_up(keys, n); ++j) s[j] = -std::numeric_limits<float>::infinity();
  auto largest = hn::Set(d, state.max);
  for (int64_t j = 0; j < keys; j += n) largest = hn::Max(largest, hn::Load(d, s + j));
  const float max = hn::GetLane(hn::MaxOfLanes(d, largest));
  const float base = max == -std::numeric_limits<float>::infinity() ? 0.0F : max;
  if (max != state.max) {
    const auto factor = exp2_bounded(hn::Set(d, state.max - base));
    for (int64_t i = 0; i < outputs; i += n) hn::Store(hn::Mul(hn::Load(d, o + i), factor), d, o + i);
    state.sum *= hn::GetLane(factor);
    row.stretch *= hn::GetLane(factor);
    state.max = max;
  }
  auto sum = hn::Zero(d);
  for (int64_t j = 0; j < keys; j += n) {
    const auto p = exp2_bounded(hn::Sub(hn::Load(d, s + j), hn::Set(d, base)));
    hn::Store(p, d, s + j);
    sum = hn::Add(sum, p);
  }
  row.stretch += hn::GetLane(hn::SumOfLanes(d, sum));
}

struct RowsScratch {
  float *q, *o, *scores, *row;
  RunningRow* running;
  Range* runs;  // what each row sees of the task's keys
  // Of q; of o, whose rows have this stretch's O and then that of the stretches before; of scores.
  int64_t stride, o_stride, score_stride;
  std::size_t bytes;

  RowsScratch() = default;
  RowsScratch(std::byte* base, int64_t dim, int64_t rows) {
    const int64_t padded_rows = round_up(rows, kRowGroup);
    stride = round_up(dim, 2 * lanes());
    o_stride = 2 * stride;
    score_stride = round_up(kTogetherBlock, lanes());
    Arena arena(base);
    q = arena.take<float>(padded_rows * stride);
    o = arena.take<float>(padded_rows * o_stride);
    scores = arena.take<float>(padded_rows * score_stride);
    row = arena.take<float>(stride);
    running = arena.take<RunningRow>(padded_rows);
    runs = arena.take<Range>(padded_rows);
    bytes = arena.bytes();
  }

  // What row r sees of a block of keys.
  Range seen_by(int64_t r, int64_t begin, int64_t keys) const {
    return {std::clamp<int64_t>(runs[r].begin - begin, 0, keys),
            std::clamp<int64_t>(runs[r].end - begin, 0, keys)};
  }

  void end_stretch(int64_t rows) const {
    const Tag d;
    for (int64_t r = 0; r < rows; ++r) {
      running[r].before.sum += running[r].stretch;
      running[r].stretch = 0;
      float* now = o + r * o_stride;
      float* before = now + stride;
      for (int64_t i = 0; i < stride; i += lanes()) {
        hn::Store(hn::Add(hn::Load(d, before + i), hn::Load(d, now + i)), d, before + i);
        hn::Store(hn::Zero(d), d, now + i);
      }
    }
  }
};

inline std::size_t rows_scratch_bytes(const ForwardProblem& problem, int64_t rows) {
  return RowsScratch(nullptr, problem.head_dim, rows).bytes;
}

// One head, or several that lie side by side in rows of K and V.
struct RowsHeads {
  Task task[kMostHeads];
  RowsScratch scratch[kMostHeads];
  int64_t count = 0;
};

// Which keys of a block are taken at once: kKeysAtOnce of them. Scores lie in the order in which they are
// taken.
struct KeyOrder {
  int64_t apart = 1;           // from one key to the next that is taken with it
  int64_t next = kKeysAtOnce;  // from the first of those to the first of the next ones
};

// Scores of R rows against kKeysAtOnce keys of a block, whose places are from `key` on; V of those keys is
// fetched meanwhile if that is asked for.
template <int R, class T>
HWY_INLINE void score_keys(const Task& task, const RowsScratch& scratch, int64_t first, int64_t begin,
                           int64_t key, int64_t keys, const KeyOrder& order, bool fetch_v) {
  const int64_t dim = task.problem->head_dim;
  const T* from[kKeysAtOnce];
  for (int64_t j = 0; j < kKeysAtOnce; ++j) {
    // Past the end: the last one again, its score is not used.
    const int64_t at = begin + std::min(key / kKeysAtOnce * order.next + j * order.apart, keys - 1);
    from[j] = static_cast<const T*>(task.k) + at * task.k_row_stride;
    const T* v = static_cast<const T*>(task.v) + at * task.v_row_stride;
    for (int64_t i = 0; fetch_v && i < dim; i += kCacheLine / static_cast<int64_t>(sizeof(T))) {
      __builtin_prefetch(v + i);
    }
  }
  dot_products<R>(scratch.q + first * scratch.stride, scratch.stride, from, dim,
                  scratch.scores + first * scratch.score_stride + key, scratch.score_stride);
}

// The scores of a block become weights.
template <int R>
HWY_INLINE void exponentiate_rows(const RowsScratch& scratch, int64_t first, int64_t begin, int64_t keys) {
  for (int64_t r = first; r < first + R; ++r) {
    exponentiate_row(scratch.scores + r * scratch.score_stride, scratch.seen_by(r, begin, keys),
                     scratch.running[r], scratch.o + r * scratch.o_stride, scratch.o_stride);
  }
}

// O of R rows += P V over `keys` keys of a block, whose places are from `key` on: a multiple of kKeysAtOnce,
// and all rows see them.
template <int R, class T>
HWY_INLINE void weigh_keys(const Task& task, const RowsScratch& scratch, int64_t first, int64_t begin,
                           int64_t key, int64_t keys, const KeyOrder& order) {
  const int64_t at = begin + key / kKeysAtOnce * order.next;
  weigh_block<R>(scratch.scores + first * scratch.score_stride + key, scratch.score_stride,
                 Values<T>{.first = static_cast<const T*>(task.v) + at * task.v_row_stride,
                           .stride = order.apart * task.v_row_stride,
                           .next = order.next * task.v_row_stride},
                 keys, task.problem->head_dim, scratch.o + first * scratch.o_stride, scratch.o_stride);
}

// The same for the keys outside `full`, one by one, each row those that it sees.
template <int R, class T>
HWY_INLINE void weigh_other_keys(const Task& task, const RowsScratch& scratch, int64_t first, int64_t begin,
                                 int64_t keys, Range full) {
  const T* v = static_cast<const T*>(task.v) + begin * task.v_row_stride;
  for (int64_t r = first; r < first + R; ++r) {
    each_key_outside(scratch.seen_by(r, begin, keys), full, [&](int64_t j) {
      weigh_one(scratch.scores[r * scratch.score_stride + j], v + j * task.v_row_stride,
                task.problem->head_dim, scratch.o + r * scratch.o_stride);
    });
  }
}

// Those that are taken kKeysAtOnce at a time, and begin with a multiple of that.
inline Range whole_turns(Range full) {
  const int64_t begin = round_up(full.begin, kKeysAtOnce);
  return {begin, std::max(begin, full.end / kKeysAtOnce * kKeysAtOnce)};
}

// R rows, from `first` on, meet the keys [begin, begin + keys); every one of them sees `full` of these.
template <int R, class T>
void meet_block(const Task& task, const RowsScratch& scratch, int64_t first, int64_t begin, int64_t keys,
                Range full) {
  for (int64_t key = 0; key < keys; key += kKeysAtOnce)
    score_keys<R, T>(task, scratch, first, begin, key, keys, KeyOrder{}, true);
  exponentiate_rows<R>(scratch, first, begin, keys);
  full = whole_turns(full);
  weigh_keys<R, T>(task, scratch, first, begin, full.begin, full.size(), KeyOrder{});
  weigh_other_keys<R, T>(task, scratch, first, begin, keys, full);
}

// The same for heads side by side. They take turns after every few keys, so that K and V are read along their
// rows. The keys of a turn are far apart, so that the rows behind them continue theirs: the hardware fetches
// ahead along a few long streams, not from row to row, and one page holds one stream. That is why V is not
// fetched here.
template <int R, class T>
void meet_block_together(const RowsHeads& heads, int64_t first, int64_t begin, int64_t keys, Range full) {
  const bool even = full.size() == keys && keys % kKeysAtOnce == 0;
  const KeyOrder order = even ? KeyOrder{.apart = keys / kKeysAtOnce, .next = 1} : KeyOrder{};
  for (int64_t key = 0; key < keys; key += kKeysAtOnce) {
    for (int64_t h = 0; h < heads.count; ++h)
      score_keys<R, T>(heads.task[h], heads.scratch[h], first, begin, key, keys, order, false);
  }
  for (int64_t h = 0; h < heads.count; ++h) exponentiate_rows<R>(heads.scratch[h], first, begin, keys);
  full = whole_turns(full);
  for (int64_t key = full.begin; key < full.end; key += kKeysAtOnce) {
    for (int64_t h = 0; h < heads.count; ++h)
      weigh_keys<R, T>(heads.task[h], heads.scratch[h], first, begin, key, kKeysAtOnce, order);
  }
  for (int64_t h = 0; h < heads.count; ++h)
    weigh_other_keys<R, T>(heads.task[h], heads.scratch[h], first, begin, keys, full);
}

template <class T>
void begin_rows(const Task& task, const RowsScratch& scratch) {
  const ForwardProblem& p = *task.problem;
  const Tag d;
  const int64_t n = lanes();
  const int64_t rows = task.row_end - task.row_begin;
  for (int64_t r = 0; r < round_up(rows, kRowGroup); ++r) {
    const int64_t row = task.row_begin + std::min(r, rows - 1);  // rows past the end repeat the last one
    const int64_t position = row / p.group();
    const T* from =
        static_cast<const T*>(task.q) + row % p.group() * task.q_head_stride + position * task.q_row_stride;
    float* to = scratch.q + r * scratch.stride;
    const auto scale = hn::Set(d, p.scale * kLog2E);
    for (int64_t i = 0; i < p.head_dim; i += 2 * n) {
      Vector q0 = hn::Zero(d), q1 = hn::Zero(d);
      load_pair_upto(from + i, p.head_dim - i, q0, q1);
      hn::Store(hn::Mul(q0, scale), d, to + i);
      hn::Store(hn::Mul(q1, scale), d, to + i + n);
    }
    const Range seen = p.visible(position);
    scratch.runs[r] = {std::max(task.kv_begin, seen.begin), std::min(task.kv_end, seen.end)};
    scratch.running[r] = RunningRow{};
  }
  std::fill_n(scratch.o, round_up(rows, kRowGroup) * scratch.o_stride, 0.0F);
}

template <int R, class T>
void meet(const RowsHeads& heads, int64_t first, int64_t begin, int64_t keys, Range full) {
  if (heads.count == 1) return meet_block<R, T>(heads.task[0], heads.scratch[0], first, begin, keys, full);
  meet_block_together<R, T>(heads, first, begin, keys, full);
}

// All rows meet the keys [begin, begin + block); `first_key` is the first that any of them sees.
template <class T>
void meet_keys(const RowsHeads& heads, int64_t first_key, int64_t begin, int64_t block) {
  const Task& task = heads.task[0];
  const int64_t rows = task.row_end - task.row_begin;
  if ((begin - first_key) % kStretch == 0) {
    for (int64_t h = 0; h < heads.count; ++h) heads.scratch[h].end_stretch(rows);
  }
  const Range* runs = heads.scratch[0].runs;  // those of every head
  for (int64_t first = 0; first < rows; first += kRowGroup) {
    const int64_t count = std::min(kRowGroup, rows - first);
    const Range lowest = runs[first], highest = runs[first + count - 1];
    const int64_t keys = std::min(block, highest.end - begin);
    if (keys <= 0 || lowest.begin >= begin + keys) continue;
    const int64_t full_begin = std::clamp<int64_t>(highest.begin - begin, 0, keys);
    const Range full{full_begin, std::clamp<int64_t>(lowest.end - begin, full_begin, keys)};
    if (count == 1) {
      meet<1, T>(heads, first, begin, keys, full);
    } else if (count == 2) {
      meet<2, T>(heads, first, begin, keys, full);
    } else {
      meet<4, T>(heads, first, begin, keys, full);
    }
  }
}

template <class T>
void end_rows(const Task& task, const RowsScratch& scratch) {
  const int64_t rows = task.row_end - task.row_begin;
  scratch.end_stretch(rows);
  for (int64_t r = 0; r < rows; ++r) {
    const float* o = scratch.o + r * scratch.o_stride + scratch.stride;
    for (int64_t i = 0; i < scratch.stride; ++i) {
      const int64_t at = natural_index<T>(i);
      if (at < task.problem->head_dim) scratch.row[at] = o[i];
    }
    store_row<T>(task, task.row_begin + r, scratch.row, scratch.running[r].before);
  }
}

template <class T>
void attend_rows(const Task& task) {
  const ForwardProblem& p = *task.problem;
  const int64_t rows = task.row_end - task.row_begin;
  const int64_t bytes = round_up(static_cast<int64_t>(rows_scratch_bytes(p, rows)), kCacheLine);
  const int64_t begin = std::max(task.kv_begin, p.visible(task.row_begin / p.group()).begin);
  const int64_t end = std::min(task.kv_end, p.visible((task.row_end - 1) / p.group()).end);
  const int64_t together = are_inside_rows(task) ? task.heads : 1;
  const int64_t block = together > 1 ? kTogetherBlock : kRowsBlock<T>;
  for (int64_t first = 0; first < task.heads; first += together) {
    RowsHeads heads;
    heads.count = together;
    for (int64_t h = 0; h < together; ++h) {
      heads.task[h] = head_of<T>(task, first + h, bytes);
      heads.scratch[h] = RowsScratch(heads.task[h].scratch, p.head_dim, rows);
      begin_rows<T>(heads.task[h], heads.scratch[h]);
    }
    for (int64_t key = begin; key < end; key += block) meet_keys<T>(heads, begin, key, block);
    for (int64_t h = 0; h < together; ++h) end_rows<T>(heads.task[h], heads.scratch[h]);
  }
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
