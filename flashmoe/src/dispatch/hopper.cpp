// SPDX-License-Identifier: MIT
#include "dispatch/hopper.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>
#include <vector>

#include "dispatch/runs.h"
#include "dispatch/scores.h"
#include "kernels/hopper_forward/spec.h"
#include "numeric/ceil_div.h"

namespace flashmoe::dispatch {
namespace {

namespace hopper = kernels::hopper_forward;

int64_t tiles(const ForwardProblem& p, int pack, int tile_q) {
  return p.batch * (p.q_heads / pack) * ceil_div(p.q_rows * pack, tile_q);
}

// How a row of the table for whole tiles is known.
struct TileShape {
  int head_dim, tile_q, tile_kv;
};

// The index of the one row with this shape; anything else does not compile.
consteval int row_with(TileShape shape) {
  int found = -1;
  for (int i = 0; i < hopper::kNumTunings; ++i) {
    const hopper::Tuning& t = hopper::kTunings[i];
    if (t.splits || t.head_dim != shape.head_dim || t.tile_q() != shape.tile_q || t.tile_kv != shape.tile_kv)
      continue;
    if (found >= 0) throw "two rows of kTunings have this shape";
    found = i;
  }
  if (found < 0) throw "no row of kTunings has this shape";
  return found;
}

// How evenly the grid's fixed order shares out tiles under a mask in groups of so many heads: the mean work
// of a block over the largest. Work is counted in blocks of keys; a tile costs kTileCost more, however few it
// has.
double evenness(const ForwardPlan& plan, const ForwardProblem& p, int64_t heads, int64_t heads_at_once) {
  constexpr double kTileCost = 1.5;
  const int64_t q_tiles = plan.tiles / heads;
  const int64_t blocks = plan.blocks;
  std::vector<double> work(plan.blocks +
                           1);  // as differences between neighbours: a row of tiles is a step up and one down
  int64_t at = 0;               // in a round
  bool backwards = false;       // every second round
  double sum = 0;
  for (int64_t first = 0; first < heads; first += heads_at_once) {
    const int64_t group = std::min(heads_at_once, heads - first);
    for (int64_t row = 0; row < q_tiles; ++row) {
      const int64_t tile = plan.last_first ? q_tiles - 1 - row : row;
      const double cost =
          static_cast<double>(key_blocks(p, plan.tile_q, plan.tile_kv, plan.pack, tile)) + kTileCost;
      sum += cost * static_cast<double>(group);
      for (int64_t left = group; left > 0;) {
        const int64_t count = std::min(left, blocks - at);
        const int64_t from = backwards ? blocks - at - count : at;
        work[static_cast<std::size_t>(from)] += cost;
        work[static_cast<std::size_t>(from + count)] -= cost;
        left -= count;
        at += count;
        if (at == blocks) {
          at = 0;
          backwards = !backwards;
        }
      }
    }
  }
  std::partial_sum(work.begin(), work.end(), work.begin());
  return sum / static_cast<double>(blocks) / *std::max_element(work.begin(), work.end());
}

}  // namespace

const char* too_much_for_hopper(const ForwardProblem& p, Addressing addressing, const device::Spec& spec) {
  if (spec.arch != 90) return "a GPU other than compute capability 9.0";
  if (spec.max_cluster == 1) return "a build without machine code for sm_90a";
  if (!addressing.aligned) return "rows that do not begin at multiples of 16 bytes";
  if (!addressing.tma) return "strides that TMA does not take: negative, zero, or 2^40 bytes and more";
  // A TMA store writes whole pieces, also where the tensor ends within one: the rest of it is not ours.
  if (p.head_dim % 8 != 0) return "rows that are not whole pieces of 16 bytes";
  if (p.spans.first_keys > 0) return "first keys beside a run";
  return nullptr;
}

int hopper_pack(const ForwardProblem& p) {
  const int64_t group = p.group();
  if (group == 1 || hopper::kMaxPack % group != 0) return 1;
  const auto filled = [](int64_t rows) {
    return static_cast<double>(rows) / static_cast<double>(ceil_div(rows, 128) * 128);
  };
  return filled(p.q_rows) < 0.9 * filled(p.q_rows * group) ? static_cast<int>(group) : 1;
}

int hopper_tuning(const ForwardProblem& p, int pack, const device::Spec& spec) {
  constexpr int k64Rows192 = row_with({.head_dim = 64, .tile_q = 192, .tile_kv = 128});
  constexpr int k64Rows256 = row_with({.head_dim = 64, .tile_q = 256, .tile_kv = 64});
  constexpr int k64Rows128 = row_with({.head_dim = 64, .tile_q = 128, .tile_kv = 64});
  constexpr int k96 = row_with({.head_dim = 96, .tile_q = 128, .tile_kv = 128});
  constexpr int k128 = row_with({.head_dim = 128, .tile_q = 128, .tile_kv = 128});
  constexpr int k192 = row_with({.head_dim = 192, .tile_q = 128, .tile_kv = 80});
  constexpr int k256Keys80 = row_with({.head_dim = 256, .tile_q = 128, .tile_kv = 80});
  constexpr int k256Keys64 = row_with({.head_dim = 256, .tile_q = 128, .tile_kv = 64});
  static_assert(hopper::kTunings[k64Rows128].runs && hopper::kTunings[k64Rows192].runs &&
                hopper::kTunings[k96].runs && hopper::kTunings[k128].runs && hopper::kTunings[k192].runs &&
                hopper::kTunings[k256Keys64].runs);
  // Measured on an H200: NOTES.md of the kernel has the figures. A row that sees a window is as long as that.
  const int64_t keys = most_keys(p, 128 / pack);
  // Forms that change scores, or take bits, exist for fewer shapes of tiles.
  const bool changes = forward_change(p) != kernels::Change::none || p.attn_mask;
  static_assert(hopper::takes_changes(hopper::kTunings[k64Rows128]) &&
                hopper::takes_changes(hopper::kTunings[k64Rows192]) &&
                hopper::takes_changes(hopper::kTunings[k128]) &&
                hopper::takes_changes(hopper::kTunings[k256Keys64]));
  if (changes && p.head_dim > 64) return p.head_dim <= 128 ? k128 : k256Keys64;
  if (p.head_dim > 192) return keys <= 4096 || p.window.limits() || p.spans.given() ? k256Keys64 : k256Keys80;
  if (p.head_dim > 64) return p.head_dim <= 96 ? k96 : p.head_dim <= 128 ? k128 : k192;
  // 192 rows with 128 keys at a time are fastest per block of keys, but short rows are all beginnings and
  // ends: there more warpgroups of 64 keys hide each other's. Masked ones also want tiles that waste less on
  // the diagonal, and blocks of one tile each. So do grids that would leave SMs idle.
  const auto fills = [&](int tuning) {
    return tiles(p, pack, hopper::kTunings[tuning].tile_q()) >= spec.sms;
  };
  const bool masked = p.mask != Mask::none || p.window.limits() || p.spans.given() || changes;
  if (p.spans.documents || p.spans.chunk > 0 || p.attn_mask)
    return k64Rows128;  // how short rows are, nobody knows
  if (p.spans.given() && keys > 2048 && fills(k64Rows256)) return k64Rows256;
  if (keys <= (masked ? 2048 : 1024)) return !masked && fills(k64Rows256) ? k64Rows256 : k64Rows128;
  return fills(k64Rows192) ? k64Rows192 : k64Rows128;
}

int hopper_split_tuning(const ForwardProblem& p) {
  // The narrowest that holds head_dim: rows with splits stand in the order of their head_dim.
  const auto* row =
      std::find_if(std::begin(hopper::kTunings), std::end(hopper::kTunings),
                   [&](const hopper::Tuning& t) { return t.splits && t.head_dim >= p.head_dim; });
  return static_cast<int>(row - std::begin(hopper::kTunings));
}

int hopper_splits(const ForwardProblem& p, int pack, const device::Spec& spec) {
  const hopper::Tuning& t = hopper::kTunings[hopper_split_tuning(p)];
  const int64_t whole = tiles(p, pack, t.tile_q());
  if (2 * whole >= spec.sms) return 1;
  constexpr int64_t kFewestKeys = 512;  // for less, the second kernel costs more than it saves
  return static_cast<int>(std::clamp<int64_t>(most_keys(p, t.tile_q() / pack) / kFewestKeys, 1,
                                              std::min<int64_t>(spec.sms / whole, kMaxSplits)));
}

void order_hopper_tiles(ForwardPlan& plan, const ForwardProblem& p, const device::Spec& spec) {
  if (p.mask == Mask::none && !p.window.limits()) return;
  if (p.spans.documents || p.spans.chunk > 0 || p.attn_mask || (p.spans.given() && p.head_dim > 64)) {
    plan.heads_at_once = 1;
    return;
  }
  const int64_t keys = most_keys(p, plan.tile_q / plan.pack);  // of a head, in flight
  const int64_t kv_bytes = 2 * p.batch * p.kv_heads * keys * p.head_dim * element_bytes(p.dtype);
  const bool in_cache = kv_bytes <= spec.l2_bytes / 2;
  // Masked tiles go from a group's longest row of tiles down. Best is a group whose K and V fit the cache,
  // where one of about that size shares out the work evenly. Else, for long rows, as many heads as are work
  // for many rounds, which is even with any number of them; for short ones a head's tiles side by side, so
  // that its K and V come from memory once. (NOTES.md of the kernel, and
  // Plan.HopperSharesOutCausalWorkEvenly.)
  constexpr int64_t kShortestRows = 2048, kLongRows = 4096;
  constexpr int64_t kManyRounds = 12;
  constexpr double kEven = 0.98;
  const int64_t heads = p.batch * (p.q_heads / plan.pack);
  const int64_t q_tiles = plan.tiles / heads;
  const int fit = plan.heads_at_once;
  const bool few_rounds = q_tiles * fit < kManyRounds * spec.sms;
  if (few_rounds && !in_cache && p.kv_rows >= kShortestRows && plan.blocks < plan.tiles) {
    for (int group = fit; 2 * group > fit; --group) {
      if (evenness(plan, p, heads, group) < kEven) continue;
      plan.heads_at_once = group;
      return;
    }
  }
  if (p.window.limits() && !in_cache && !few_rounds) {
    plan.heads_at_once = static_cast<int>(ceil_div(heads, ceil_div(heads, fit)));  // groups of one size
    return;
  }
  if (!in_cache && p.kv_rows < kLongRows) {
    plan.heads_at_once = 1;
  } else if (few_rounds) {
    const int64_t groups = std::max<int64_t>(1, heads / ceil_div(kManyRounds * spec.sms, q_tiles));
    plan.heads_at_once = static_cast<int>(ceil_div(heads, groups));
  }
}

}  // namespace flashmoe::dispatch
