// SPDX-License-Identifier: MIT
// Every mistake must be caught, by the model or by the oracle, in the two runs of each case that CI makes;
// and exact copies of the kernels must pass all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "dispatch/pair_bits.h"
#include "dispatch/row_table.h"
#include "dispatch/run.h"
#include "dispatch/run_backward.h"
#include "dispatch/runs.h"
#include "dispatch/scores.h"
#include "kernels/ampere_backward/launch.h"
#include "kernels/ampere_forward/launch.h"
#include "kernels/backward_on_model.h"
#include "kernels/combine_splits/launch.h"
#include "kernels/naive/launch.h"
#include "kernels/naive_backward/launch.h"
#include "kernels/on_model.h"
#include "kernels/prepare_lengths/launch.h"
#include "kernels/prepare_pairs/launch.h"
#include "kernels/prepare_runs/launch.h"
#include "model/mutants/ampere_backward_form.h"
#include "model/mutants/decode_form.h"
#include "model/mutants/hopper_backward_form.h"
#include "model/mutants/hopper_form.h"
#include "model/mutants/registry.h"
#include "support/pair_patterns.h"
#include "support/sequences.h"
#include "support/spans.h"

namespace flashmoe::test {

std::vector<Mutant>& mutants() {
  static std::vector<Mutant> all;
  return all;
}

Registration::Registration(const std::string& kernel, const char* mistake, decltype(Mutant::run) run) {
  mutants().push_back({.kernel = kernel, .mistake = mistake, .run = run});
}

Registration::Registration(const std::string& kernel, const char* mistake,
                           decltype(Mutant::run_backward) run) {
  mutants().push_back({.kernel = kernel, .mistake = mistake, .run_backward = run});
}

Registration::Registration(const std::string& kernel, const char* mistake, decltype(Mutant::prepare) run) {
  mutants().push_back({.kernel = kernel, .mistake = mistake, .prepare = run});
}

Registration::Registration(const std::string& kernel, const char* mistake,
                           decltype(Mutant::prepare_rows) run) {
  mutants().push_back({.kernel = kernel, .mistake = mistake, .prepare_rows = run});
}

namespace {

// A statement of a kernel that can be taken out.
struct Line {
  std::string file;
  int number = 0;
  std::string text;

  auto operator<=>(const Line&) const = default;
};
std::set<Line> reached;
const Line* taken_out = nullptr;

}  // namespace

bool is_taken_out(const char* file, int line, const char* text) {
  const char* slash = std::strrchr(file, '/');
  const char* name = slash == nullptr ? file : slash + 1;
  if (taken_out == nullptr) {
    reached.insert({name, line, text});
    return false;
  }
  return taken_out->number == line && taken_out->file == name;
}

namespace {

constexpr std::string_view kDropout = ", dropout";  // in the names of forms with it

struct MutantCase {
  Shape shape;
  int num_splits = 1;
  int tuning = -1;             // of decode_forward
  bool deterministic = false;  // gradients
};

// Short on purpose, but: more tiles than stages, tails, a row block that sees nothing, groups, splits, odd
// head_dims.
std::vector<MutantCase> cases_for(const std::string& kernel) {
  if (const auto at = kernel.find(kDropout); at != std::string::npos) {
    std::vector<MutantCase> cases = cases_for(std::string(kernel).erase(at, kDropout.size()));
    for (MutantCase& c : cases) c.shape.dropout = {.p = 0.3F, .seed = 0x987654321};
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
  if (kernel == "naive, scores" || kernel == "naive_backward, scores")
    return {{changed(shape(2, 1, 70, 150, 64, Mask::causal), 3, true)},
            {changed(shape(2, 1, 150, 40, 64, Mask::causal), 0, true)}};
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
              {packed(shape(1, 1, 0, 0, dim, Mask::causal_top_left), {20, 90, 300}, {40, 60, 290})},
              {packed(windowed(shape(1, 1, 0, 0, dim, Mask::causal), 100, 0), {300, 40}, {420, 400})}};
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
    return {{first}, {second}, {spans_of_sequences(40, false)}, {spans_of_sequences(40, true)}};
  }
  if (kernel.ends_with("pairs") && kernel.starts_with("naive")) {
    const auto paired = [&](Shape of, PairType type, std::array<bool, 4> shared) {
      of.batch = 2;
      of.softcap = 3;
      of.pairs = type;
      of.pairs_shared = shared;
      return of;
    };
    return {{paired(shape(4, 2, 70, 150, 64, Mask::causal), PairType::fp32, {false, false, false, false})},
            {paired(shape(4, 2, 150, 70, 64, Mask::none), PairType::fp16, {true, true, true, false})},
            {paired(shape(2, 1, 70, 70, 40, Mask::causal), PairType::bf16, {false, true, false, true})}};
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
  const bool unaligned = kernel.find("unaligned") != std::string::npos;
  const int64_t dim = unaligned ? 44 : kernel.ends_with("64") ? 64 : 128;
  const Layout layout = unaligned ? Layout::padded : Layout::bhsd;
  return {{shape(4, 2, 40, 300, dim, Mask::causal, layout)},
          {shape(1, 1, 150, 150, dim, Mask::causal, layout)},
          {shape(1, 1, 300, 40, dim, Mask::causal, layout)},
          {shape(2, 1, 20, 500, dim, Mask::none, layout), 3}};
}

OnModel how_to_run(const Mutant& mutant, const MutantCase& c, const model::Settings& settings) {
  using dispatch::ForwardKernel;
  OnModel how{.choice = {.kernel = ForwardKernel::small_forward, .num_splits = c.num_splits},
              .settings = settings};
  for (ForwardKernel kernel : {ForwardKernel::naive, ForwardKernel::ampere_forward,
                               ForwardKernel::hopper_forward, ForwardKernel::decode_forward}) {
    if (mutant.kernel.starts_with(name_of(kernel))) how.choice.kernel = kernel;
  }
  if (mutant.prepare != nullptr) how.choice.kernel = ForwardKernel::naive;
  if (mutant.prepare_rows != nullptr) how.choice.kernel = ForwardKernel::ampere_forward;
  if (mutant.kernel == "combine_splits") how.choice.kernel = ForwardKernel::ampere_forward;
  if (c.tuning >= 0) how.choice.tuning = c.tuning;
  if (how.choice.kernel == ForwardKernel::hopper_forward) {
    const int blocks_per_sm = mutant.kernel.find("in pairs") == std::string::npos ? 1 : 2;
    how.choice.tuning = hopper_tuning(static_cast<int>(c.shape.head_dim), blocks_per_sm, c.num_splits > 1);
    how.sms = 1;  // one block has all tiles, more than it has slots for
  }
  return how;
}

// What the oracle says of a shape: every mutant of a kernel has the same ones.
const reference::ForwardResult& expected_of(const Shape& shape) {
  static std::map<std::string, reference::ForwardResult> known;
  const auto [place, is_new] = known.try_emplace(describe(shape));
  if (is_new) place->second = Problem(shape).oracle();
  return place->second;
}

struct Gradients {
  explicit Gradients(const Shape& shape) : problem(shape), expected(problem.oracle()) {}

  BackwardProblem problem;
  reference::BackwardResult expected;
};

Gradients& gradients_of(const Shape& shape) {
  static std::map<std::string, Gradients> known;
  return known.try_emplace(describe(shape), shape).first->second;
}

dispatch::BackwardChoice backward_choice(const std::string& kernel, const Shape& shape) {
  using dispatch::BackwardKernel;
  if (kernel == "prepare_runs") return {.kernel = BackwardKernel::ampere_backward};
  if (kernel.starts_with("naive_backward") || kernel.starts_with("prepare"))
    return {.kernel = BackwardKernel::naive_backward};
  if (kernel.starts_with("hopper_backward")) return {.kernel = BackwardKernel::hopper_backward};
  if (kernel.ends_with("general")) return {.kernel = BackwardKernel::ampere_backward};  // one row a head_dim
  const int stages = kernel.ends_with("one stage") ? 1 : 2;
  return {.kernel = BackwardKernel::ampere_backward,
          .tuning = ampere_backward_tuning(static_cast<int>(shape.head_dim), stages)};
}

void take_lists(const ForwardProblem& p, const kernels::prepare_lengths::Params& lengths) {
  lists_at_hand().places = dispatch::places_of(p);
  for (int i = 0; i < lengths.num_lists; ++i) {
    lists_at_hand().tiles[i] = dispatch::sequence_tiles(p, lengths, i);
    lists_at_hand().capacity[i] = lengths.lists[i].capacity;
  }
}

std::string caught_in_gradients(const Mutant& mutant, const MutantCase& c, const model::Settings& settings) {
  auto& [problem, expected] = gradients_of(c.shape);
  problem.poison_gradients();
  const ForwardProblem& p = problem.forward.problem;
  scores_at_hand() = {dispatch::scores_of(p, problem.forward.args.scores),
                      dispatch::scale_behind(dispatch::backward_change(p).value_or(kernels::Change::none), p),
                      dispatch::pair_scores_of(p, problem.forward.args.scores).pairs, problem.dattn_mask()};
  scores_at_hand().dropout = dispatch::dropout_of(p);
  scores_at_hand().num_first_keys = static_cast<int>(std::min(p.spans.first_keys, p.kv_rows));
  lists_at_hand() = {};
  const auto choice = backward_choice(mutant.kernel, c.shape);
  const auto plan = dispatch::plan_backward(p, true, device::find("H200"), c.deterministic, choice);
  const auto prepare = [&](const kernels::prepare_lengths::Params& lengths) {
    mutant.prepare != nullptr ? mutant.prepare(lengths) : kernels::prepare_lengths::launch(lengths, nullptr);
    take_lists(p, lengths);
    lists_at_hand().padded = dispatch::padded_sequences(plan, p, lengths);
  };
  const auto prepare_rows = [&](const kernels::prepare_runs::SequenceParams& rows) {
    mutant.prepare_rows != nullptr ? mutant.prepare_rows(rows)
                                   : kernels::prepare_runs::launch_sequences(rows, nullptr);
  };
  const auto general = [&](const kernels::BackwardParams& params) {
    const ListsAtHand& lists = lists_at_hand();
    kernels::ampere_backward::launch_general(p.dtype,
                                             {params, scores_at_hand().params, scores_at_hand().dropout,
                                              scores_at_hand().num_first_keys, lists.tiles[0], lists.padded},
                                             plan.tuning, nullptr);
  };
  const auto scalar = [&](const kernels::BackwardParams& params) {
    const ListsAtHand& lists = lists_at_hand();
    kernels::naive_backward::launch_lengths(
        p.dtype, params,
        {scores_at_hand().params, lists.tiles[0], lists.tiles[1], lists.capacity[0], lists.capacity[1]},
        nullptr);
  };
  const auto behind_bits = [&](const kernels::BackwardParams& params) {
    const auto pairs = dispatch::pair_bits_params(p, problem.forward.args.scores, true,
                                                  {params.lse_log2, plan.workspace_bytes});
    kernels::prepare_pairs::launch(pairs, nullptr);
    scores_at_hand().bits = dispatch::pair_bits(pairs);
    mutant.run_backward(params);
    if (const PairGradient to = problem.dattn_mask(); to.data != nullptr) {  // by another kernel
      kernels::naive_backward::launch_pair_gradient(
          p.dtype, params, dispatch::pair_scores_of(p, problem.forward.args.scores), dispatch::dropout_of(p),
          {to.data, to.strides[0], to.strides[1], to.strides[2], to.strides[3]}, nullptr);
    }
  };
  try {
    run_backward_on_model(problem, c.deterministic, settings,
                          mutant.prepare != nullptr        ? MainKernel(scalar)
                          : mutant.prepare_rows != nullptr ? MainKernel(general)
                          : p.attn_mask && choice.kernel == dispatch::BackwardKernel::hopper_backward
                              ? MainKernel(behind_bits)
                              : mutant.run_backward,
                          choice, prepare, prepare_rows);
    return problem.disagreement(expected);
  } catch (const model::Failure& failure) {
    return failure.what();
  }
}

// What is wrong with one run, or "".
std::string caught(const Mutant& mutant, const MutantCase& c, const model::Settings& settings) {
  if (mutant.run_backward != nullptr) return caught_in_gradients(mutant, c, settings);
  Problem problem(c.shape);
  const auto run = [&](const dispatch::ForwardPlan& plan, Workspace workspace) {
    const auto params = dispatch::params_for(plan, problem.problem, problem.args, workspace);
    const ForwardProblem& p = problem.problem;
    scores_at_hand() = {
        dispatch::scores_of(p, problem.args.scores),
        dispatch::scale_behind(dispatch::forward_change(p).value_or(kernels::Change::none), p),
        dispatch::pair_scores_of(p, problem.args.scores).pairs,
        {}};
    scores_at_hand().dropout = dispatch::dropout_of(p);
    if (mutant.kernel.starts_with("ampere_forward")) {
      scores_at_hand().params = dispatch::general_scores_of(p, problem.args.scores);
      scores_at_hand().scale_log2e = dispatch::general_scale_behind(p);
    }
    lists_at_hand() = {};
    if (p.spans.given() && !p.lengths.given) {
      const auto rows = dispatch::row_table_params(p, problem.args.spans, false, workspace);
      kernels::prepare_runs::launch(rows, nullptr);
      lists_at_hand().table = dispatch::row_table(p, rows);
    }
    if (plan.kernel == dispatch::ForwardKernel::hopper_forward && p.attn_mask) {
      const auto bits = dispatch::pair_bits_params(p, problem.args.scores, false, workspace);
      kernels::prepare_pairs::launch(bits, nullptr);
      scores_at_hand().bits = dispatch::pair_bits(bits);
    }
    if (p.lengths.given) {
      const auto lengths = dispatch::length_params_for(plan, p, problem.args, workspace);
      mutant.prepare != nullptr ? mutant.prepare(lengths)
                                : kernels::prepare_lengths::launch(lengths, nullptr);
      take_lists(p, lengths);
      if (p.spans.given()) {
        const auto rows = dispatch::sequence_table_params(p, problem.args.spans, lengths, false, workspace);
        mutant.prepare_rows != nullptr ? mutant.prepare_rows(rows)
                                       : kernels::prepare_runs::launch_sequences(rows, nullptr);
        lists_at_hand().table = dispatch::row_table(p, rows);
      }
    }
    if (mutant.prepare_rows != nullptr) {
      kernels::ForwardParams scaled = params;
      scaled.scale_log2e = dispatch::general_scale_behind(p);
      return kernels::ampere_forward::launch_general(
          p.dtype, scaled,
          {dispatch::runs_of(p), lists_at_hand().table, lists_at_hand().tiles[0],
           dispatch::general_scores_of(p, problem.args.scores), dispatch::dropout_of(p)},
          plan.blocks, nullptr);
    }
    if (mutant.prepare != nullptr) {
      return kernels::naive::launch_lengths(p.dtype, params, lists_at_hand().tiles[0], lists_at_hand().table,
                                            scores_at_hand().params, plan.blocks, nullptr);
    }
    mutant.run(params, dispatch::runs_of(problem.problem), plan.aligned, plan.tuning, plan.blocks);
    if (plan.num_splits > 1 && mutant.kernel != "combine_splits")
      kernels::combine_splits::launch(c.shape.dtype, params, plan.head_dim, nullptr);
  };
  try {
    run_on_model(problem, how_to_run(mutant, c, settings), run);
    const std::string wrong = problem.disagreement(expected_of(c.shape));
    const bool prepares = mutant.prepare != nullptr || mutant.prepare_rows != nullptr;
    return wrong.empty() && prepares ? caught_in_gradients(mutant, c, settings) : wrong;
  } catch (const model::Failure& failure) {
    return failure.what();
  }
}

std::string caught(const Mutant& mutant) {
  for (const MutantCase& c : cases_for(mutant.kernel)) {
    using model::CopyTime;
    for (const model::Settings& settings :
         {model::Settings{
              .seed = 0, .copies = CopyTime::early, .tma = CopyTime::early, .wgmma = CopyTime::early},
          model::Settings{.seed = 1}}) {
      const std::string what = caught(mutant, c, settings);
      if (!what.empty()) return what;
    }
  }
  return "";
}

class Mutants : public testing::TestWithParam<std::size_t> {};

TEST_P(Mutants, AreCaught) {
  const Mutant& mutant = mutants()[GetParam()];
  const std::string what = caught(mutant);
  if (mutant.mistake == "none") {
    EXPECT_EQ(what, "") << "a false alarm about an exact copy of " << mutant.kernel;
  } else {
    EXPECT_NE(what, "") << mutant.kernel << " with this mistake passes everything: " << mutant.mistake;
    std::cout << mutant.kernel << ", " << mutant.mistake << ": " << what.substr(0, what.find('\n')) << "\n";
  }
}

std::string test_name(const testing::TestParamInfo<std::size_t>& info) {
  std::string name = mutants()[info.param].kernel + "_" + mutants()[info.param].mistake;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

std::vector<std::size_t> those(bool each_line) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < mutants().size(); ++i) {
    if ((mutants()[i].mistake == "each line") == each_line) indices.push_back(i);
  }
  return indices;
}

INSTANTIATE_TEST_SUITE_P(Model, Mutants, testing::ValuesIn(those(false)), test_name);

TEST(MutantsCount, IsAtLeastAHundred) { EXPECT_GE(mutants().size(), 120U); }  // with exact copies

// Statements that can be taken out, and why. `which` counts those of one text in a file, from 0.
struct Harmless {
  const char* kernel;  // with which its name begins
  const char* file;
  const char* text;
  int which;
  const char* why;
};

constexpr Harmless kHarmless[] = {
    {"small_forward", "kernel.cuh", "gpu::sync_warp()", 2,
     "the partial output takes the place of K, which no lane reads behind the meeting for V"},
    {"decode_forward", "kernel.cuh", "gpu::sync_warp()", 3,
     "brings the lanes together again before they arrive at the cluster's barrier, as hardware wants it; "
     "each "
     "arrives for itself on the model"},
    {"decode_forward", "maths.cuh", "gpu::sync_warp()", 0,
     "the partial output takes the place of the ring's first slot, which the last step's own meeting has "
     "come after"},
    {"hopper_forward", "kernel.cuh", "gpu::setmaxnreg_inc", 0,
     "fewer registers make a kernel slow, not wrong"},
    {"hopper_forward", "rows.cuh", "gpu::sync_warp()", 0,
     "behind ldmatrix, which has read for all lanes when it returns to one"},
    {"hopper_forward", "rows.cuh", "gpu::sync_warp()", 1,
     "orders lanes of one warp that wait for the same phase; the model takes a warp's waits for one"},
    {"hopper_forward", "persistent.cuh", "rows_.release_values()", 2,
     "the last release: nobody loads any more"},
    {"hopper_forward", "persistent.cuh", "rows_.wait_for_turn()", 1,
     "turns are for speed: no data hangs on them"},
    {"hopper_forward", "rows.cuh", "gpu::named_barrier_sync(number(Barrier::turn", 0,
     "turns are for speed: no data hangs on them"},
    {"hopper_forward at 128", "persistent.cuh", "rows_.release_queries()", 0, "Q is in registers"},
    {"hopper_backward", "steps.cuh", "gpu::sync_warp()", 0,
     "orders lanes of one warp before one of them arrives; the model orders warps"},
    {"hopper_backward", "steps.cuh", "gpu::sync_warp()", 1,
     "orders lanes of one warp before one of them arrives; the model orders warps"},
    {"hopper_backward", "steps.cuh", "keys.wait_full(keys.smem.first_is_ahead", 0,
     "a head start is for speed: no data hangs on it"},
    {"hopper_backward", "kernel.cuh", "gpu::setmaxnreg_inc", 0,
     "fewer registers make a kernel slow, not wrong"},
    {"hopper_backward", "reduce.cuh", "gpu::wait_for_count", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"hopper_backward", "reduce.cuh", "gpu::fence_proxy_async_global()", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"hopper_backward", "reduce.cuh", "gpu::fence_proxy_async_global()", 1,
     "on the model a block runs when all with lower numbers have ended"},
    {"hopper_backward", "reduce.cuh", "gpu::tma_store_wait<0>()", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"hopper_backward", "reduce.cuh", "gpu::sync_warp()", 0,
     "brings the lanes together again before the warp waits, as hardware wants it"},
    {"hopper_backward", "reduce.cuh", "gpu::sync_warp()", 1,
     "brings the lanes together again before the warp arrives, as hardware wants it; each arrives for itself "
     "on the model"},
    {"hopper_backward", "reduce.cuh", "gpu::sync_warp()", 2,
     "brings the lanes together again before the warp waits, as hardware wants it"},
    {"hopper_backward", "persistent.cuh", "gpu::sync_warp()", 1,
     "brings the lanes together again before the warp waits, as hardware wants it"},
    {"hopper_backward", "persistent.cuh", "gpu::sync_warp()", 2,
     "orders lanes of one warp before one of them arrives; the model orders warps"},
    {"hopper_backward", "persistent.cuh", "gpu::setmaxnreg_inc", 0,
     "fewer registers make a kernel slow, not wrong"},
    {"hopper_backward at 256", "keys.cuh", "gpu::wgmma_fence()", 1,
     "no wait lies between it and that of the dQ issued before"},
    {"hopper_backward at 256", "keys.cuh", "gpu::named_barrier_sync(number(Barrier::math", 0,
     "the last step's barrier lies behind all reads of the other warpgroup's columns of K and V"},
    {"hopper_backward at 256", "steps.cuh", "keys.wait_for_turn()", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"hopper_backward at 256", "keys.cuh", "gpu::named_barrier_sync(number(Barrier::dq_free", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"ampere_backward", "keys.cuh", "gpu::wait_for_count", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"ampere_backward", "keys.cuh", "gpu::sync_block()", 0,
     "on the model a block runs when all with lower numbers have ended"},
    {"ampere_backward", "keys.cuh", "gpu::sync_block()", 1,
     "on the model a block runs when all with lower numbers have ended"},
    {"ampere_backward at 64, general", "kernel.cuh", "gpu::sync_block()", 3,
     "one thread goes on from the number to the place, which all wait for"},
    {"naive_backward", "kernel.cuh", "gpu::sync_block()", 5,
     "accumulate()'s barriers lie behind the reads of the statistics before"},
    {"naive_backward", "kernel.cuh", "gpu::sync_block()", 6,
     "multiply()'s barriers lie before the reads of these statistics"},
    {"hopper_forward in pairs", "load.cuh", "gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.q_free", 0,
     "one tile: the slot is free"},
    {"hopper_forward in pairs", "store.cuh", "gpu::tma_store_wait_read", 0,
     "one tile: nothing was stored before"},
    {"hopper_forward in pairs", "store.cuh", "sync_warpgroup()", 0, "one tile: nothing was stored before"},
    {"hopper_forward in pairs", "rows.cuh", "wait_full(full, ring)", 0,
     "one tile: what is passed over are first stages, at whose barriers nobody has arrived before"},
    {"hopper_forward with shares", "rows.cuh", "wait_full(full, ring)", 0,
     "one tile: what is passed over are first stages, at whose barriers nobody has arrived before"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.release_values()", 1,
     "the last release: nobody loads any more"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.wait_for_turn()", 0,
     "turns are for speed: no data hangs on them"},
    {"hopper_forward with shares", "load.cuh", "gpu::mbarrier_wait_in_block(gpu::shared_address(&smem.q_free",
     0, "one tile: the slot is free"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.wait_for_stores()", 0,
     "partial outputs leave from registers"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.release_queries()", 0, "Q is in registers"},
    {"hopper_forward with shares", "persistent.cuh", "rows_.release_loaded_queries()", 0,
     "one tile: nobody loads another Q"},
    {"hopper_forward at 64", "persistent.cuh", "rows_.release_loaded_queries()", 0, "Q is in shared memory"},
    {"hopper_forward at 64", "persistent.cuh", "rows_.release_loaded_queries()", 1, "Q is in shared memory"},
    {"hopper_forward with shares", "rows.cuh", "gpu::mbarrier_arrive(gpu::shared_address(&smem.q_free", 0,
     "one tile: nobody loads another Q"},
};

// Why nothing notices that a statement is missing, or "" if something should.
std::string why_harmless(const std::string& kernel, const std::set<Line>& lines, const Line& line) {
  for (const Harmless& h : kHarmless) {
    if (!kernel.starts_with(h.kernel) || line.file != h.file || !line.text.starts_with(h.text)) continue;
    const auto before = std::count_if(lines.begin(), lines.end(), [&](const Line& other) {
      return other.file == line.file && other.text == line.text && other.number < line.number;
    });
    if (before == h.which) return h.why;
  }
  return "";
}

class Synchronisation : public testing::TestWithParam<std::size_t> {};

// Every statement of the kernel that orders what its threads do, and that its cases come to, is needed.
TEST_P(Synchronisation, IsNeededLineByLine) {
  const Mutant& mutant = mutants()[GetParam()];
  reached.clear();
  ASSERT_EQ(caught(mutant), "") << "a false alarm about an exact copy of " << mutant.kernel;
  const std::set<Line> lines = reached;
  EXPECT_GE(lines.size(), 4U);
  for (const Line& line : lines) {
    const std::string where = line.file + ":" + std::to_string(line.number) + " " + line.text;
    if (const std::string why = why_harmless(mutant.kernel, lines, line); !why.empty()) {
      std::cout << where << ": harmless, " << why << "\n";
      continue;
    }
    taken_out = &line;
    const std::string what = caught(mutant);
    taken_out = nullptr;
    EXPECT_NE(what, "") << mutant.kernel << " without " << where << " passes everything";
    std::cout << where << ": " << what.substr(0, what.find('\n')) << "\n";
  }
}

INSTANTIATE_TEST_SUITE_P(Model, Synchronisation, testing::ValuesIn(those(true)), test_name);

}  // namespace
}  // namespace flashmoe::test
