// SPDX-License-Identifier: MIT
#include "dispatch/hopper.h"

#include <algorithm>
#include <iterator>

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

}  // namespace

const char* too_much_for_hopper(Addressing addressing, const device::Spec& spec) {
  if (spec.arch != 90) return "a GPU other than compute capability 9.0";
  if (spec.max_cluster == 1) return "a build without machine code for sm_90a";
  if (!addressing.aligned) return "rows that do not begin at multiples of 16 bytes";
  if (!addressing.tma) return "strides that TMA does not take: negative, zero, or 2^40 bytes and more";
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
  // Measured on an H200: NOTES.md of the kernel has the figures.
  if (p.head_dim > 192) return p.kv_rows <= 4096 ? k256Keys64 : k256Keys80;
  if (p.head_dim > 64) return p.head_dim <= 96 ? k96 : p.head_dim <= 128 ? k128 : k192;
  // 192 rows with 128 keys at a time are fastest per block of keys, but short rows are all beginnings and
  // ends: there more warpgroups of 64 keys hide each other's. Causal ones also want tiles that waste less on
  // the diagonal, and blocks of one tile each. So do grids that would leave SMs idle.
  const auto fills = [&](int tuning) {
    return tiles(p, pack, hopper::kTunings[tuning].tile_q()) >= spec.sms;
  };
  const bool causal = p.mask != Mask::none;
  if (p.kv_rows <= (causal ? 2048 : 1024)) return !causal && fills(k64Rows256) ? k64Rows256 : k64Rows128;
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
  return static_cast<int>(
      std::clamp<int64_t>(p.kv_rows / kFewestKeys, 1, std::min<int64_t>(spec.sms / whole, kMaxSplits)));
}

void order_hopper_tiles(ForwardPlan& plan, const ForwardProblem& p, const device::Spec& spec) {
  const int64_t kv_bytes = 2 * p.batch * p.kv_heads * p.kv_rows * p.head_dim * element_bytes(p.dtype);
  const bool in_cache = kv_bytes <= spec.l2_bytes / 2;
  // Short rows: a head's tiles side by side, so that its K and V come from memory once. Long ones: groups of
  // heads, each from its longest row of tiles down. A group is even by itself when it is work for many rounds
  // of the grid; the smaller it is, the more of its K and V is still in the cache for the next row of tiles.
  // (NOTES.md of the kernel, and Plan.HopperSharesOutCausalWorkEvenly.)
  constexpr int64_t kLongRows = 4096;
  constexpr int64_t kManyRounds = 12;
  if (!plan.last_first) return;
  const int64_t heads = p.batch * (p.q_heads / plan.pack);
  const int64_t q_tiles = plan.tiles / heads;
  if (!in_cache && p.kv_rows < kLongRows) {
    plan.heads_at_once = 1;
  } else if (q_tiles * plan.heads_at_once < kManyRounds * spec.sms) {
    const int64_t groups = std::max<int64_t>(1, heads / ceil_div(kManyRounds * spec.sms, q_tiles));
    plan.heads_at_once = static_cast<int>(ceil_div(heads, groups));
  }
}

}  // namespace flashmoe::dispatch
