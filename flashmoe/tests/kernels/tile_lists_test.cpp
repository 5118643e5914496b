// SPDX-License-Identifier: MIT
// prepare_lengths on the model of a GPU: the lists of sequences' tiles.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "dispatch/sequence_tiles.h"
#include "kernels/length_shapes.h"
#include "kernels/on_model.h"
#include "kernels/prepare_lengths/launch.h"
#include "numeric/ceil_div.h"
#include "problem/sequences.h"
#include "support/sequences.h"

namespace flashmoe::test::tile_lists_test {
namespace {

struct Forget {
  ~Forget() { model::forget_memory(); }
};

// What prepare_lengths writes: every tile of every sequence once, those with the most work first; of keys, a
// sequence's together, in the order of keys or the reverse.
void expect_lists(const Shape& shape, const dispatch::TileLists& lists) {
  const Forget forget;
  model::settings() = {};
  const Problem problem(shape);
  const ForwardProblem& p = problem.problem;
  const std::size_t bytes = dispatch::with_tile_lists(0, p, lists);
  std::vector<std::byte> space(bytes + kWorkspaceAlignment, std::byte{0xFF});
  Workspace workspace = Workspace::in(space.data(), space.size());
  workspace.bytes = bytes;
  const auto params = dispatch::length_params(p, problem.args.lengths, lists, workspace);
  if (bytes > 0) model::allow_memory("lists", workspace.data, bytes, true);
  allow_lengths(problem.args);
  kernels::prepare_lengths::launch(params, nullptr);

  const Sequences sequences(problem.args.lengths, p);
  for (int l = 0; l < params.num_lists; ++l) {
    const kernels::prepare_lengths::List& list = params.lists[l];
    std::map<std::tuple<int, int>, int> found;  // sequence and first row
    std::set<int> begun;                        // sequences
    int before = std::numeric_limits<int>::max();
    int at = 0;
    for (; at < list.capacity && list.tiles[at].sequence != kernels::kNoSequence; ++at) {
      const kernels::SequenceTile& tile = list.tiles[at];
      ASSERT_TRUE(tile.sequence >= 0 && tile.sequence < sequences.count()) << describe(shape);
      const Sequence sequence = sequences[tile.sequence];
      EXPECT_EQ(tile.q_place, shape.q_starts.empty() ? sequence.q.batch : sequence.q.rows.begin);
      EXPECT_EQ(tile.k_place, shape.k_starts.empty() ? sequence.k.batch : sequence.k.rows.begin);
      EXPECT_EQ(tile.q_rows, sequence.q.rows.size());
      EXPECT_EQ(tile.k_rows, sequence.k.rows.size());
      ++found[{tile.sequence, tile.first_row}];
      if (list.of_keys) {
        const bool begins = at == 0 || list.tiles[at - 1].sequence != tile.sequence;
        if (!begins) {
          const int step = tile.first_row - list.tiles[at - 1].first_row;
          EXPECT_EQ(step, list.last_first ? -list.tile_rows : list.tile_rows)
              << describe(shape) << ", entry " << at;
          continue;
        }
        EXPECT_TRUE(begun.insert(tile.sequence).second) << describe(shape) << ", entry " << at;
      }
      const ForwardProblem alone = sequences.problem_of(sequence);
      int work =
          0;  // keys that its last row sees, or rows that see the sequence's first key or one behind it
      if (list.of_keys) {
        const int others = ceil_div(tile.k_rows, list.tile_rows) - 1;
        const int first_key = tile.first_row - (list.last_first ? others * list.tile_rows : 0);
        for (int64_t row = 0; row < alone.q_rows; ++row)
          work += alone.visible(row).end > std::max(first_key, 0) ? 1 : 0;
        if (first_key < 0) continue;  // counted from a key that is not there
      } else {
        const int64_t last = std::min<int64_t>(tile.first_row + list.tile_rows, alone.q_rows) - 1;
        work = static_cast<int>(alone.visible(last).end);
      }
      work = std::min(work, list.most_work);
      EXPECT_LE(work, before) << describe(shape) << ", entry " << at;
      before = work;
    }
    for (; at < list.capacity; ++at) EXPECT_EQ(list.tiles[at].sequence, kernels::kNoSequence);
    std::size_t expected = 0;
    for (int64_t i = 0; i < sequences.count(); ++i) {
      if (sequences[i].is_empty()) continue;
      const int64_t rows = (list.of_keys ? sequences[i].k : sequences[i].q).rows.size();
      const int64_t tiles = (rows + list.tile_rows - 1) / list.tile_rows;
      for (int64_t tile = 0; tile < tiles; ++tile) {
        const int64_t first = tile * list.tile_rows - (list.from_end ? tiles * list.tile_rows - rows : 0);
        EXPECT_EQ((found[{static_cast<int>(i), static_cast<int>(first)}]), 1)
            << describe(shape) << ", sequence " << i << ", row " << first;
        ++expected;
      }
    }
    EXPECT_EQ(found.size(), expected) << describe(shape);
  }
}

TEST(TileLists, HaveEveryTileOnceLongestFirst) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Dice dice(seed);
    Shape shape{.head_dim = 8, .dtype = DType::bf16, .seed = seed};
    shape.mask = dice.one_of(kMasks);
    throw_lengths(dice, 700, 700, shape);
    shape.window = dice.window(200);
    const auto tile = static_cast<int>(dice.one_of({16, 64, 128}));
    expect_lists(shape, {.tile_q = tile, .tile_kv = 64, .from_end = dice.between(0, 1) == 0});
    for (const bool last_first : {false, true})
      expect_lists(shape, {.tile_kv = tile, .last_first = last_first});
  }
}

// More of them than a block has threads, and than a warp has lanes in turn; lengths at the end of their
// memory.
TEST(TileLists, TakeManySequences) {
  for (const std::size_t count : {1UL, 31UL, 32UL, 33UL, 300UL}) {
    std::vector<int32_t> q, k;
    for (std::size_t i = 0; i < count; ++i) {
      q.push_back(static_cast<int32_t>(i * 7 % 40));
      k.push_back(static_cast<int32_t>(i * 11 % 90));
    }
    Shape shape{.head_dim = 8, .dtype = DType::bf16, .mask = Mask::causal};
    expect_lists(packed(shape, q, k, 3), {.tile_q = 16, .tile_kv = 32});
    shape.q_rows = 40;
    shape.kv_rows = 90;
    expect_lists(padded(shape, q, k), {.tile_q = 16, .tile_kv = 32, .from_end = true});
  }
}

// Nobody has looked at lengths that lie on the GPU: whatever they say, no tile leaves its tensor.
TEST(TileLists, StayInsideWhateverLengthsSay) {
  const Forget forget;
  model::settings() = {};
  Shape shape = packed({.head_dim = 8, .dtype = DType::bf16}, {30, 20, 50}, {30, 20, 50});
  Problem problem(shape);
  const int32_t q_starts[] = {-5, 90, 20, 5000}, k_used[] = {-1, 70, 1000};
  problem.args.lengths.q_starts = q_starts;
  problem.args.lengths.k_used = k_used;
  const dispatch::TileLists lists{.tile_q = 16, .tile_kv = 16};
  const std::size_t bytes = dispatch::with_tile_lists(0, problem.problem, lists);
  std::vector<std::byte> space(bytes + kWorkspaceAlignment, std::byte{0xFF});
  Workspace workspace = Workspace::in(space.data(), space.size());
  workspace.bytes = bytes;
  const auto params = dispatch::length_params(problem.problem, problem.args.lengths, lists, workspace);
  model::allow_memory("lists", workspace.data, bytes, true);
  allow_lengths(problem.args);
  kernels::prepare_lengths::launch(params, nullptr);
  for (const auto& list : params.lists) {
    for (int at = 0; at < list.capacity; ++at) {
      const kernels::SequenceTile& tile = list.tiles[at];
      if (tile.sequence == kernels::kNoSequence) break;
      EXPECT_TRUE(tile.q_place >= 0 && tile.q_rows > 0 && tile.q_place + tile.q_rows <= 100) << at;
      EXPECT_TRUE(tile.k_place >= 0 && tile.k_rows > 0 && tile.k_place + tile.k_rows <= 100) << at;
    }
  }
}

}  // namespace
}  // namespace flashmoe::test::tile_lists_test
