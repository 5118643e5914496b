// SPDX-License-Identifier: MIT
#include "model/mutants/mutant_cases.h"

#include <algorithm>
#include <cmath>

#include "model/mutants/decode_form.h"
#include "support/pair_patterns.h"
#include "support/sequences.h"
#include "support/spans.h"

namespace flashmoe::test {
namespace {

constexpr std::string_view kDropout = ", dropout";  // in the names of forms with it

Shape with_dropout(Shape of) {
  of.dropout = {.p = 0.3F, .seed = 0x987654321};
  return of;
}

}  // namespace

std::vector<MutantCase> cases_for(const std::string& kernel) {
  if (const auto at = kernel.find(kDropout); at != std::string::npos) {
    std::vector<MutantCase> cases = cases_for(std::string(kernel).erase(at, kDropout.size()));
    for (MutantCase& c : cases) c.shape = with_dropout(c.shape);
    return cases;
  }
  const auto shape = [](int64_t heads, int64_t kv_heads, int64_t rows, int64_t keys, int64_t dim, Mask mask,
                        Layout layout = Layout::bhsd) {
    return Shape{.q_heads = heads,
                 .kv_heads = kv_heads,
                 .q_rows = rows,
                 .kv_rows = keys,
                 .head_dim = dim,
                 .dtype = DType::fp16,
                 .mask = mask,
                 .layout = layout,
                 .spread = 2};
  };
  if (kernel == "small_forward") {
    return {{shape(2, 1, 9, 60, 64, Mask::causal)},
            {shape(1, 1, 20, 128, 128, Mask::none)},
            {shape(1, 1, 40, 17, 64, Mask::causal)},
            {shape(1, 1, 5, 70, 104, Mask::causal)}};
  }
  const auto windowed = [](Shape of, int64_t left, int64_t right) {
    of.window = {left, right};
    return of;
  };
  // Slopes, a cap, or both, and sinks, for two batch entries.
  const auto changed = [](Shape of, float softcap, bool slopes) {
    of.batch = 2;
    of.softcap = softcap;
    for (int64_t i = 0; slopes && i < 2 * of.q_heads; ++i)
      of.slopes.push_back(std::exp2(-static_cast<float>(i)));
    for (int64_t h = 0; h < of.q_heads; ++h) of.sinks.push_back(static_cast<float>(2 * h) - 1);
    return of;
  };
  // The same for sequences, of which there are some.
  const auto changed_lengths = [&](Shape of) {
    const int64_t sequences = of.batch;
    of = changed(std::move(of), 3, false);
    of.batch = sequences;
    for (int64_t i = 0; i < sequences * of.q_heads; ++i)
      of.slopes.push_back(std::exp2(-static_cast<float>(i)));
    return of;
  };
  if (kernel.starts_with("hopper_forward") && (kernel.ends_with("bits") || kernel.ends_with("bias"))) {
    // Empty, full and random squares, another mask for each entry and head, tails; and one for all.
    const int64_t dim = kernel.find("at 128") != std::string::npos ? 128 : 64;
    const PairType type = kernel.ends_with("bits") ? PairType::boolean : PairType::fp16;
    Shape squares = shape(2, 1, 330, 530, dim, Mask::none);
    squares.batch = 2;
    squares.pairs = type;
    squares.pairs_aligned = true;
    squares.pairs_shown = [](int64_t b, int64_t h, int64_t row, int64_t key) {
      const int64_t band = key / 64 - row / 64 - 2 * b - h;  // full from the diagonal on, then random
      return band > 4 ? false : band > 2 ? (row * 31 + key * 17) % 3 != 0 : band >= 0;
    };
    Shape random = shape(2, 1, 200, 300, dim, Mask::causal);
    random.batch = 2;
    random.pairs = type;
    random.pairs_aligned = true;
    Shape one = random;
    one.pairs_shared = {true, true, false, false};
    return {{squares}, {random}, {one}};
  }
  // Spans of sequences: documents that go on in the next one, another prefix and padding for each, first keys
  // behind a window; an empty sequence, one whose rows stand before the first key, rows that don't count.
  const auto spans_of_sequences = [&](int64_t dim, bool first_keys) {
    Shape of = packed(shape(2, 1, 0, 0, dim, Mask::causal), {150, 1, 0, 70, 40}, {150, 90, 5, 270, 30}, 3);
    of.q_used = {150, 1, 0, 66, 40};
    if (first_keys) {
      of = windowed(of, 30, 0);
      of.first_keys = 5;
      of.documents = documents_of({120, 60, 100}, of.kv_rows);
    } else {
      of.documents = documents_of({90, 160, 40}, of.kv_rows);
      of.prefix = {40, 0, 0, 230, 7};
      of.left_padding = {3, 70, 0, 0, 1};
    }
    return of;
  };
  // Of padded ones: another set of documents for each; positions from the first key on, so that rows stand
  // behind the last.
  const auto spans_of_entries = [&](int64_t dim) {
    Shape of = padded(shape(2, 1, 90, 80, dim, Mask::causal_top_left), {90, 3, 20}, {17, 80, 70});
    of.documents = documents_of({9, 30, 41, 20, 60, 2, 30}, 3 * 80);
    return of;
  };
  // First keys that are seen tiles behind the window, not where the sequence before has its own; and a tile's
  // last key that is seen by one row of another tile.
  const auto far_first_keys = [&](int64_t dim) {
    Shape of = windowed(packed(shape(1, 1, 0, 0, dim, Mask::causal), {400, 330}, {400, 330}), 65, 0);
    of.first_keys = 5;
    of.left_padding = {140, 0};
    return of;
  };
  if (kernel == "prepare_runs") {
    return {{spans_of_sequences(64, false)},
            {spans_of_sequences(64, true)},
            {spans_of_entries(64)},
            {far_first_keys(64)}};
  }
  if (kernel.ends_with("lengths")) {
    if (kernel.starts_with("hopper")) {
      // More than a tile, and more blocks of keys than stages, beside short ones.
      const int64_t dim = kernel.find("at 128") != std::string::npos   ? 128
                          : kernel.find("at 256") != std::string::npos ? 256
                                                                       : 64;
      Shape long_ones =
          packed(shape(2, 1, 0, 0, dim, Mask::causal), {150, 1, 0, 70, 9, 30}, {150, 90, 5, 300, 0, 20}, 3);
      long_ones.q_used = {150, 1, 0, 66, 9, 30};
      // Scores far below 0, where a key that is not there, and scores 0, would weigh more than anything; and
      // full tiles between masked ones.
      Shape low = shape(2, 1, 0, 0, dim, Mask::none);
      low.spread = 20;
      return {{long_ones},
              {packed(low, {5, 70, 400}, {1, 3, 2})},
              {packed(windowed(shape(1, 1, 0, 0, dim, Mask::none), 280, 20), {420, 40}, {400, 30})},
              {padded(shape(2, 2, 140, 200, dim, Mask::none), {140, 3, 50}, {77, 200, 130})},
              {.shape = packed(shape(1, 1, 0, 0, dim, Mask::causal_top_left), {20, 90, 300}, {40, 60, 290}),
               .deterministic = true},
              {.shape = packed(windowed(shape(1, 1, 0, 0, dim, Mask::causal), 100, 0), {300, 40}, {420, 400}),
               .deterministic = true}};
    }
    // Empty sequences, single rows, equal ones, tails, rows that see nothing or don't count; packed, and
    // padded.
    Shape first =
        packed(shape(2, 1, 0, 0, 40, Mask::causal), {70, 1, 0, 70, 9, 30}, {70, 90, 5, 70, 0, 20}, 3);
    first.q_used = {70, 1, 0, 66, 9, 30};
    for (int i = 0; i < 12; ++i) first.slopes.push_back(std::exp2(-static_cast<float>(i)));
    first.sinks = {1, -1};
    const Shape second = padded(shape(2, 1, 70, 80, 40, Mask::none), {70, 3, 20}, {17, 80, 70});
    if (kernel == "prepare_lengths") return {{first}, {second}};
    return {{first},
            {second},
            {with_dropout(first)},
            {spans_of_sequences(40, false)},
            {spans_of_sequences(40, true)}};
  }
  if (kernel.ends_with("general") && kernel.starts_with("naive")) {
    const auto paired = [&](Shape of, PairType type, std::array<bool, 4> shared) {
      of.batch = 2;
      of.softcap = 3;
      of.pairs = type;
      of.pairs_shared = shared;
      return of;
    };
    const Shape each = paired(shape(4, 2, 70, 150, 64, Mask::causal), PairType::fp32, {});
    const Shape of_keys =
        paired(shape(4, 2, 150, 70, 64, Mask::none), PairType::fp16, {true, true, true, false});
    const Shape of_rows =
        paired(shape(2, 1, 70, 70, 40, Mask::causal), PairType::bf16, {false, true, false, true});
    return {{changed(shape(2, 1, 70, 150, 64, Mask::causal), 3, true)},
            {changed(shape(2, 1, 150, 40, 64, Mask::causal), 0, true)},
            {with_dropout(each)},  // shows most mistakes, so it comes before the rest
            {with_dropout(of_keys)},
            {of_rows},
            {each},
            {of_keys}};
  }
  if (kernel.ends_with("softcap") || kernel.ends_with("slopes")) {
    const int64_t dim = kernel.find("at 64") != std::string::npos    ? 64
                        : kernel.find("at 256") != std::string::npos ? 256
                                                                     : 128;
    const bool capped = kernel.ends_with("softcap");
    return {{changed(shape(2, 1, 300, 300, dim, Mask::causal), capped ? 3 : 0, !capped)},
            {changed(shape(8, 1, 12, 394, dim, Mask::causal), capped ? 3 : 0, !capped)},
            {changed(windowed(shape(1, 1, 300, 400, dim, Mask::causal), 100, 0), capped ? 3 : 0, !capped)}};
  }
  if (kernel == "naive") {
    return {{shape(2, 1, 70, 150, 100, Mask::causal)},
            {shape(1, 1, 150, 40, 64, Mask::causal)},
            {windowed(shape(1, 1, 100, 200, 64, Mask::none), 70, 9)}};
  }
  if (kernel == "naive_backward") {
    return {{shape(2, 1, 150, 100, 64, Mask::causal)},
            {shape(1, 1, 30, 70, 40, Mask::none)},
            {windowed(shape(1, 1, 200, 200, 40, Mask::none), 100, 9)}};
  }
  if (kernel.starts_with("ampere_backward") && kernel.ends_with("pairs")) {
    const int64_t dim = kernel.find("at 64") != std::string::npos ? 64 : 128;
    const auto paired = [&](Shape of, PairType type, std::array<bool, 4> shared) {
      of.batch = 2;
      of.pairs = type;
      of.pairs_shared = shared;
      return of;
    };
    // Large sinks, since a row's gradients sum to 0 without.
    Shape some = shape(2, 1, 90, 150, dim, Mask::none);
    some.sinks = {12, 14};
    // An element for each pair, beside a cap; sums over entries, rows, keys, and both of those.
    return {{paired(changed(shape(2, 1, 150, 200, dim, Mask::causal), 3, true), PairType::fp32,
                    {false, false, false, false})},
            {paired(some, PairType::fp16, {true, true, false, false})},
            {paired(some, PairType::bf16, {false, false, true, false})},
            {paired(some, PairType::fp32, {false, true, false, true})},
            {paired(some, PairType::fp32, {false, false, true, true})},
            {.shape = paired(windowed(some, 40, 20), PairType::boolean, {false, false, false, false}),
             .deterministic = true}};
  }
  if (kernel.starts_with("ampere_backward") && kernel.ends_with("general")) {
    const int64_t dim = kernel.find("at 64") != std::string::npos ? 64 : 128;
    Shape one_key = shape(1, 1, 70, 1, dim, Mask::none);
    one_key.softcap = 1e4F;
    one_key.spread = 20;  // some LSEs are far below 0, the score of a key that does not exist
    // Documents, another set for each entry; and first keys that rows see again behind a window.
    Shape documents = shape(2, 1, 330, 330, dim, Mask::causal);
    documents.batch = 2;
    documents.documents = documents_of({150, 3}, 330);
    for (const int32_t id : documents_of({20, 270}, 330)) documents.documents.push_back(id);
    Shape first_keys = windowed(shape(1, 1, 400, 400, dim, Mask::causal), 30, 0);
    first_keys.first_keys = 5;
    Shape late_first_keys = first_keys;
    late_first_keys.documents = documents_of({140}, 400);
    Shape lengths = packed(shape(2, 1, 0, 0, dim, Mask::causal), {150, 1, 0, 70}, {150, 90, 5, 300}, 3);
    lengths.q_used = {150, 1, 0, 66};
    lengths.softcap = 3;
    for (int i = 0; i < 8; ++i) lengths.slopes.push_back(std::exp2(-static_cast<float>(i)));
    return {{changed(windowed(shape(2, 1, 400, 300, dim, Mask::none), 280, 20), 3, false)},
            // Row 64 sees all but the last key of a tile.
            {.shape = changed(shape(2, 1, 130, 192, dim, Mask::causal), 3, true), .deterministic = true},
            {changed(shape(2, 1, 70, 150, dim, Mask::none), 0, true)},
            {one_key},
            {.shape = documents, .deterministic = true},
            {first_keys},
            {late_first_keys},
            {lengths},
            {padded(shape(2, 1, 140, 200, dim, Mask::none), {140, 3, 50}, {77, 200, 130})},
            {spans_of_sequences(dim, false)},
            {spans_of_sequences(dim, true)},
            {far_first_keys(dim)}};
  }
  if (kernel == "ampere_backward at 64, runs") {
    // Full tiles between masked ones, none at all, keys that nobody sees.
    return {{windowed(shape(2, 1, 400, 300, 64, Mask::none), 280, 20)},
            {.shape = windowed(shape(2, 1, 200, 300, 64, Mask::causal), 40, 0), .deterministic = true},
            {windowed(shape(1, 1, 40, 300, 64, Mask::causal_top_left), 10, 0)}};
  }
  if (kernel.starts_with("ampere_backward")) {
    const int64_t dim = kernel.ends_with("64") ? 64 : 128;
    Shape one_key = shape(1, 1, 200, 1, dim, Mask::none);
    one_key.spread = 20;  // some LSEs are far below 0, the score of a key that does not exist
    return {{shape(2, 1, 200, 150, dim, Mask::causal)},
            {.shape = shape(2, 2, 130, 300, dim, Mask::none), .deterministic = true},
            {shape(1, 1, 40, 300, dim, Mask::causal_top_left)},
            {one_key}};
  }
  if (kernel.starts_with("hopper_backward")) {
    const auto at = [&](const char* size) { return kernel.find(size) != std::string::npos; };
    const int64_t dim = at("at 64") ? 64 : at("at 128") ? 128 : 256;
    if (kernel.ends_with("bits") || kernel.ends_with("bias")) {
      const PairType type = kernel.ends_with("bits") ? PairType::boolean : PairType::fp16;
      const auto paired = [type](Shape of, decltype(Shape::pairs_shown) shown = {}) {
        of.batch = 2;
        of.pairs = type;
        of.pairs_aligned = true;
        of.pairs_shown = std::move(shown);
        return of;
      };
      Shape low = paired(shape(1, 1, 200, 1, dim, Mask::none), all_pairs);
      low.spread = 20;  // some LSEs are far below 0, the score of a key that does not exist
      return {{paired(shape(2, 1, 500, 300, dim, Mask::none), causal_pairs)},
              {paired(shape(2, 1, 600, 400, dim, Mask::none), patches_of_pairs)},
              {windowed(paired(shape(2, 1, 600, 300, dim, Mask::none), all_pairs), 280, 20)},
              {.shape = paired(shape(2, 1, 300, 300, dim, Mask::none), causal_pairs), .deterministic = true},
              {paired(shape(2, 1, 150, 200, dim, Mask::none))},
              {low}};
    }
    if (kernel.ends_with("runs")) {
      // Full tiles between masked ones, none at all, keys that nobody sees.
      return {{windowed(shape(2, 1, 600, 300, dim, Mask::none), 280, 20)},
              {.shape = windowed(shape(2, 1, 300, 400, dim, Mask::causal), 40, 0), .deterministic = true},
              {windowed(shape(1, 1, 40, 300, dim, Mask::causal_top_left), 10, 0)}};
    }
    Shape one_key = shape(1, 1, 70, 1, dim, Mask::none);
    one_key.spread = 20;  // some LSEs are far below 0, the score of a key that does not exist
    return {{shape(2, 1, 330, 200, dim, Mask::causal_top_left)},
            {.shape = shape(2, 2, 300, 300, dim, Mask::none), .deterministic = true},
            {shape(1, 1, 40, 300, dim, Mask::causal_top_left)},
            {shape(1, 1, 200, 100, dim, Mask::causal)},
            {one_key}};
  }
  if (kernel.starts_with("hopper_forward")) {
    const int64_t dim = kernel.find("at 64") != std::string::npos ? 64 : 128;
    if (kernel.ends_with("runs")) {
      // Full blocks between masked ones, none at all, rows that see nothing, groups.
      const int splits = kernel.find("shares") != std::string::npos ? 3 : 1;
      return {{windowed(shape(2, 1, 330, 700, dim, Mask::none), 300, 20), splits},
              {windowed(shape(1, 1, 300, 500, dim, Mask::causal), 40, 0), splits},
              {windowed(shape(1, 1, 300, 128, dim, Mask::causal_top_left), 50, 0), splits},
              {windowed(shape(16, 2, 12, 594, dim, Mask::causal), 260, 0), splits}};
    }
    if (kernel.find("shares") != std::string::npos) {
      return {{shape(2, 1, 200, 600, dim, Mask::causal), 3},
              {shape(1, 1, 300, 90, dim, Mask::causal), 2},
              {shape(1, 1, 128, 448, dim, Mask::causal), 2},
              {shape(2, 2, 70, 1300, dim, Mask::none), 2},
              {shape(8, 1, 12, 394, dim, Mask::causal), 2}};
    }
    return {{shape(6, 6, 100, 100, dim, Mask::none)},
            {shape(2, 1, 330, 394, dim, Mask::causal)},
            {shape(2, 2, 300, 500, dim, Mask::none)},
            {shape(16, 2, 12, 394, dim, Mask::causal)}};
  }
  if (kernel == "decode_forward") {
    return {{shape(4, 1, 2, 700, 64, Mask::causal), 1, kDecodeInPairs},
            {shape(3, 1, 1, 331, 40, Mask::none), 1, kDecodeInPairs},
            {shape(2, 2, 3, 2, 64, Mask::causal), 1, kDecodeInPairs},
            {shape(8, 1, 1, 1500, 64, Mask::none), 3, kDecodeAlone}};
  }
  if (kernel == "combine_splits") {
    return {{shape(2, 1, 20, 500, 128, Mask::none), 3}, {shape(1, 1, 301, 40, 100, Mask::causal), 2}};
  }
  if (kernel == "ampere_forward") {
    return {
        {shape(4, 2, 40, 300, 64, Mask::causal)},   {shape(1, 1, 150, 150, 128, Mask::causal)},
        {shape(1, 1, 300, 40, 128, Mask::causal)},  {shape(1, 1, 140, 130, 44, Mask::causal, Layout::padded)},
        {shape(2, 1, 20, 500, 128, Mask::none), 3}, {shape(1, 1, 300, 40, 44, Mask::causal, Layout::padded)}};
  }
  if (kernel == "ampere_forward at 64, runs") {
    // Full tiles between masked ones, none at all, rows that see nothing, groups in splits.
    return {{windowed(shape(2, 1, 200, 500, 64, Mask::none), 300, 20)},
            {windowed(shape(1, 1, 200, 300, 64, Mask::causal), 40, 0)},
            {windowed(shape(1, 1, 300, 128, 64, Mask::causal_top_left), 50, 0)},
            {windowed(shape(4, 1, 12, 594, 64, Mask::causal), 260, 0), 3}};
  }
  if (kernel == "ampere_forward at 64, general") {
    const auto scaled = [](Shape of, float scale) {
      of.scale = scale;
      return of;
    };
    // First keys far before the rest, at other places in each document; entries that differ; sequences with
    // rows and keys of other numbers, packed, and padded with groups in a tile.
    Shape first_keys = windowed(shape(2, 1, 200, 700, 64, Mask::causal), 70, 0);
    first_keys.first_keys = 70;
    Shape documents = windowed(shape(2, 1, 500, 500, 64, Mask::causal), 30, 0);
    documents.first_keys = 9;
    documents.documents = documents_of({70, 300}, 500);
    Shape padding = changed(shape(2, 1, 150, 150, 64, Mask::causal), 0, true);
    padding.left_padding = {0, 70};
    padding.prefix = {30, 100};
    const Shape sequences = changed_lengths(
        packed(shape(2, 1, 0, 0, 64, Mask::causal), {150, 1, 0, 70, 9}, {150, 90, 5, 300, 0}, 3));
    const Shape caches = padded(shape(4, 1, 70, 200, 64, Mask::causal), {70, 1, 0, 33}, {200, 2, 50, 64});
    return {{changed(windowed(shape(4, 1, 40, 300, 64, Mask::causal), 200, 0), 3, true), 3},
            {changed(shape(2, 1, 150, 200, 64, Mask::none), 0, true)},
            {scaled(changed(shape(2, 1, 150, 40, 64, Mask::causal), 0, false), -0.2F)},
            {first_keys},
            {documents, 2},
            {padding},
            {sequences},
            {caches},
            {spans_of_sequences(64, false)},
            {spans_of_sequences(64, true)}};
  }
  if (kernel == "ampere_forward at 64, pairs") {
    const auto paired = [&](Shape of, PairType type, std::array<bool, 4> shared) {
      of.batch = 2;
      of.pairs = type;
      of.pairs_shared = shared;
      return of;
    };
    // Every type; keys in twos and one by one; packs of heads with a tensor each, in splits; whole tiles that
    // are hidden, or shown, where others are not; spans beside, with a gap.
    Shape strips = paired(shape(2, 1, 150, 350, 64, Mask::none), PairType::boolean, {});
    strips.pairs_shown = [](int64_t b, int64_t h, int64_t row, int64_t key) {
      const int64_t band = key / 64 - row / 64 - b - h;
      return band >= 0 && (band < 2 || (band == 2 && (row * 31 + key * 17) % 3 != 0));
    };
    Shape heads = paired(shape(4, 1, 12, 330, 64, Mask::causal), PairType::boolean, {});
    heads.pairs_shown = [](int64_t b, int64_t h, int64_t row, int64_t key) {
      return key >= 150 - 40 * h + 20 * b && key < 210 + 40 * h && (key + row) % 5 != 0;
    };
    Shape prefix = paired(shape(2, 1, 150, 150, 64, Mask::causal), PairType::boolean, {});
    prefix.prefix = {30, 100};
    Shape first_keys = windowed(shape(2, 1, 130, 500, 64, Mask::causal), 50, 0);
    first_keys.first_keys = 5;
    Shape last_keys = paired(first_keys, PairType::boolean, {});
    last_keys.pairs_shown = [](int64_t, int64_t, int64_t row, int64_t key) {
      return key >= 300 && (key + row) % 3 != 0;
    };
    Shape alone = strips;
    alone.kv_heads = 2;
    Shape strips_of_bf16 = alone;
    strips_of_bf16.pairs = PairType::bf16;
    return {{paired(shape(2, 1, 140, 102, 64, Mask::causal), PairType::fp32, {})},
            {paired(shape(4, 2, 20, 101, 64, Mask::none), PairType::fp32, {}), 2},
            {paired(shape(4, 1, 33, 90, 64, Mask::none), PairType::fp16, {})},
            {paired(shape(2, 1, 33, 91, 64, Mask::none), PairType::bf16, {true, false, false, false})},
            {strips},
            {alone},
            {strips_of_bf16},
            {heads, 3},
            {prefix},
            {last_keys, 2},
            {paired(first_keys, PairType::fp16, {})}};
  }
  const bool unaligned = kernel.find("unaligned") != std::string::npos;
  const int64_t dim = unaligned ? 44 : kernel.ends_with("64") ? 64 : 128;
  const Layout layout = unaligned ? Layout::padded : Layout::bhsd;
  return {{shape(4, 2, 40, 300, dim, Mask::causal, layout)},
          {shape(1, 1, 150, 150, dim, Mask::causal, layout)},
          {shape(1, 1, 300, 40, dim, Mask::causal, layout)},
          {shape(2, 1, 20, 500, dim, Mask::none, layout), 3}};
}

}  // namespace flashmoe::test
