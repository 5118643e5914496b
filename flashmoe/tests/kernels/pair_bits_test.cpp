// SPDX-License-Identifier: MIT
// A bool tensor as bits, on the model of a GPU: what prepare_pairs writes of it, by row and by key.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "dispatch/pair_bits.h"
#include "kernels/on_model.h"
#include "kernels/prepare_pairs/launch.h"
#include "support/dice.h"

namespace flashmoe::test::pair_bits_test {
namespace {

struct Forget {
  ~Forget() { model::forget_memory(); }
};

bool bit_of(const kernels::PairWords* line, int64_t column) {
  const uint32_t word = line[column / 128].of_lane[column % 8 / 2];
  return (word >> (column % 128 / 8 * 2 + column % 2) & 1) != 0;
}

// What a strip of 64 lines has of each 64 columns: the hull of those that have any, and the longest stretch
// of those that have all.
struct Stretch {
  int64_t begin = kernels::kNobody, end = 0, full_begin = kernels::kNobody, full_end = 0;

  template <class Sees>  // (line of the strip, column)
  Stretch(int64_t lines, int64_t columns, const Sees& sees) {
    int64_t since = 0;
    for (int64_t first = 0; first < columns; first += 64) {
      const int64_t behind = std::min(first + 64, columns);
      bool any = false, all = lines > 0;
      for (int64_t line = 0; line < lines; ++line) {
        for (int64_t column = first; column < behind; ++column) {
          any = any || sees(line, column);
          all = all && sees(line, column);
        }
      }
      if (any) {
        begin = std::min(begin, first);
        end = behind;
      }
      if (!all) since = behind;
      if (all && behind - since > full_end - (full_end == 0 ? 0 : full_begin)) {
        full_begin = since;
        full_end = behind;
      }
    }
  }
};

void expect_bits(const Shape& shape) {
  const Forget forget;
  model::settings() = {};
  const Problem problem(shape);
  const ForwardProblem& p = problem.problem;
  const PairTensor& pairs = problem.args.scores.attn_mask;
  const std::size_t bytes = dispatch::with_pair_bits(0, p, true);
  std::vector<std::byte> space(bytes + kWorkspaceAlignment, std::byte{0xFF});
  Workspace workspace = Workspace::in(space.data(), space.size());
  workspace.bytes = bytes;
  const auto params = dispatch::pair_bits_params(p, problem.args.scores, true, workspace);
  model::allow_memory("bits", workspace.data, bytes, true);
  allow_scores(problem.args.scores, {p.batch, p.q_heads, p.q_rows, p.kv_rows});
  kernels::prepare_pairs::launch(params, nullptr);

  const kernels::PairBits bits = dispatch::pair_bits(params);
  ASSERT_TRUE(bits.given());
  for (int b = 0; b < p.batch; ++b) {
    for (int h = 0; h < p.q_heads; ++h) {
      const int64_t entry = bits.entry(b, h);
      ASSERT_LT(entry, params.entries);
      const auto sees = [&](int64_t row, int64_t key) {
        if (row >= p.q_rows || key >= p.kv_rows) return false;
        const int64_t at =
            b * pairs.strides[0] + h * pairs.strides[1] + row * pairs.strides[2] + key * pairs.strides[3];
        const Range run = p.visible(row);
        return static_cast<const unsigned char*>(pairs.data)[at] != 0 && key >= run.begin && key < run.end;
      };
      for (int64_t row = 0; row < bits.padded_rows; ++row) {
        for (int64_t key = 0; key < bits.padded_keys; ++key) {
          const bool seen = sees(row, key);
          ASSERT_EQ(bit_of(bits.by_row + (entry * bits.padded_rows + row) * bits.key_blocks(), key), seen)
              << describe(shape) << ", row " << row << ", key " << key;
          ASSERT_EQ(bit_of(bits.by_key + (entry * bits.padded_keys + key) * bits.row_blocks(), row), seen)
              << describe(shape) << ", row " << row << ", key " << key << " by key";
        }
      }
      for (int64_t tile = 0; tile < bits.padded_rows / 64; ++tile) {
        const int64_t lines = std::clamp<int64_t>(p.q_rows - tile * 64, 0, 64);
        const Stretch expected(lines, p.kv_rows,
                               [&](int64_t line, int64_t key) { return sees(tile * 64 + line, key); });
        const kernels::TileRuns found = bits.tiles[entry * (bits.padded_rows / 64) + tile];
        ASSERT_EQ(found.min_begin, expected.begin) << describe(shape) << ", tile " << tile;
        ASSERT_EQ(found.max_end, expected.end) << describe(shape) << ", tile " << tile;
        ASSERT_EQ(found.max_begin, expected.full_begin) << describe(shape) << ", tile " << tile;
        ASSERT_EQ(found.min_end, expected.full_end) << describe(shape) << ", tile " << tile;
      }
      for (int64_t tile = 0; tile < bits.padded_keys / 64; ++tile) {
        const int64_t lines = std::clamp<int64_t>(p.kv_rows - tile * 64, 0, 64);
        const Stretch expected(lines, p.q_rows,
                               [&](int64_t line, int64_t row) { return sees(row, tile * 64 + line); });
        const kernels::TileRows found = bits.key_tiles[entry * (bits.padded_keys / 64) + tile];
        ASSERT_EQ(found.begin, expected.begin) << describe(shape) << ", key tile " << tile;
        ASSERT_EQ(found.end, expected.end) << describe(shape) << ", key tile " << tile;
        ASSERT_EQ(found.full_begin, expected.full_begin) << describe(shape) << ", key tile " << tile;
        ASSERT_EQ(found.full_end, expected.full_end) << describe(shape) << ", key tile " << tile;
      }
    }
  }
}

TEST(PairBits, AreTheTensorUnderTheMask) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Dice dice(seed);
    Shape shape{.q_heads = 2, .head_dim = 8, .dtype = DType::bf16, .seed = seed};
    shape.pairs = PairType::boolean;
    shape.mask = dice.one_of(kMasks);
    shape.batch = dice.one_of({1, 2});
    shape.kv_rows = dice.length(300);
    shape.q_rows = dice.length(300);
    shape.window = dice.window(shape.kv_rows);
    shape.pairs_step = dice.one_of({1, 1, 3});
    for (bool& shared : shape.pairs_shared) shared = dice.between(0, 2) == 0;
    // Squares of 64 that are full, empty, or random.
    if (seed % 3 != 0) {
      shape.pairs_shown = [seed](int64_t b, int64_t h, int64_t row, int64_t key) {
        const int64_t square = (7 * b + 3 * h + row / 64 * 5 + key / 64 + static_cast<int64_t>(seed)) % 5;
        return square < 3 || (square == 3 && (row * 31 + key * 17) % 3 != 0);
      };
      shape.pairs_shared = {};
    }
    expect_bits(shape);
  }
}

// More blocks of columns than a block of threads takes at once.
TEST(PairBits, GoOnFromRoundToRound) {
  Shape shape{.q_rows = 70, .kv_rows = 4500, .head_dim = 8, .dtype = DType::bf16};
  shape.pairs = PairType::boolean;
  shape.pairs_shown = [](int64_t, int64_t, int64_t row, int64_t key) {
    return (key >= 700 && key < 2600) || (key >= 2700 && key < 4400 && key != 3000 + row);
  };
  expect_bits(shape);
  std::swap(shape.q_rows, shape.kv_rows);
  shape.pairs_shown = [](int64_t, int64_t, int64_t row, int64_t) { return row >= 100 && row < 4450; };
  expect_bits(shape);
}

}  // namespace
}  // namespace flashmoe::test::pair_bits_test
