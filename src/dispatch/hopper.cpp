// SPDX-License-Identifier: MIT
#include "dispatch/hopper.h"

#include <algorithm>

#include "kernels/hopper_forward/spec.h"
#include "numeric/ceil_div.h"

namespace flashmoe::dispatch {
namespace {

namespace hopper = kernels::hopper_forward;

int64_t tiles(const ForwardProblem& p, int pack, int tile_q) {
  return p.batch * (p.q_heads / pack) * ceil_div(p.q_rows * pack, tile_q);
}

}  // namespace

const char* too_much_for_hopper(Addressing addressing, const device::Spec& spec) {
  if (spec.arch != 90) return "a GPU other than compute capability 9.0";
  if (spec.max_cluster == 1) return "a build without machine code for sm_90a";
  if (!addressing.aligned) return "rows that do not begin at multiples of 16 bytes";
  if (!addressing.boxes) return "strides that TMA does not take: negative, zero, or 2^40 bytes and more";
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
  // Rows of the table by head_dim, and what decided between them on an H200 (NOTES.md).
  constexpr int k64Rows192 = 0, k64Rows256 = 1, k64Rows128 = 2, k96 = 3, k128 = 4, k192 = 5, k256Keys80 = 6,
                k256Keys64 = 7;
  if (p.head_dim > 192)
    return p.kv_rows <= 4096 ? k256Keys64 : k256Keys80;  // 1.02 to 1.05x up to 2k, equal from 8k on
  if (p.head_dim > 64) return p.head_dim <= 96 ? k96 : p.head_dim <= 128 ? k128 : k192;
  // 192 rows with 128 keys at a time are fastest per block of keys, but short rows are all beginnings and
  // ends: there more warpgroups of 64 keys hide each other's (full 1.03x at 512 and 1k). Causal ones also
  // want tiles that waste less on the diagonal, and blocks that come and go (1.15 to 1.18x at 512 and
  // 1k, 1.02x at 2k). So do grids that would leave SMs idle.
  const auto fills = [&](int tuning) {
    return tiles(p, pack, hopper::kTunings[tuning].tile_q()) >= spec.sms;
  };
  const bool causal = p.mask != Mask::none;
  if (p.kv_rows <= (causal ? 2048 : 1024)) return !causal && fills(k64Rows256) ? k64Rows256 : k64Rows128;
  return fills(k64Rows192) ? k64Rows192 : k64Rows128;
}

int hopper_split_tuning(const ForwardProblem& p) {
  int index = 0;
  while (!hopper::kTunings[index].splits || hopper::kTunings[index].head_dim < p.head_dim) ++index;
  return index;
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
  // Short rows: a head's tiles side by side, so that its K and V come from memory once. Long ones: all heads
  // at once from the longest row of tiles down, which shares out the work most evenly (0.97 to 0.999 of what
  // 132 SMs could do, against 0.56 to 0.97 for one head after the other), and tiles of a head follow each
  // other closely enough. Where the heads whose K and V fit the cache have tiles for many rounds already,
  // they are even by themselves (0.99).
  constexpr int64_t kLongRows = 4096;
  constexpr int64_t kManyRounds = 12;
  if (!plan.last_first) return;
  const int64_t heads = p.batch * (p.q_heads / plan.pack);
  const int64_t tiles_at_once = plan.tiles / heads * plan.heads_at_once;
  if (!in_cache && p.kv_rows < kLongRows) {
    plan.heads_at_once = 1;
  } else if (tiles_at_once < kManyRounds * spec.sms) {
    plan.heads_at_once = static_cast<int>(heads);
  }
}

}  // namespace flashmoe::dispatch
