// SPDX-License-Identifier: MIT
#include "dispatch/pair_bits.h"

#include <algorithm>
#include <cstdint>

#include "dispatch/pieces.h"
#include "dispatch/runs.h"
#include "dispatch/scores.h"
#include "numeric/ceil_div.h"

namespace flashmoe::dispatch {
namespace {

using kernels::kBitColumns;
using kernels::kTableTile;
namespace prepare = kernels::prepare_pairs;

int64_t padded(int64_t count) { return ceil_div(count, int64_t{kBitColumns}) * kBitColumns; }

int64_t heads(const ForwardProblem& p) { return p.pairs.per_head ? p.q_heads : 1; }
int64_t entries(const ForwardProblem& p) { return heads(p) * (p.pairs.per_entry ? p.batch : 1); }

// A forward that adds the tensor needs to know what whole tiles have, and no more.
bool needs_words(const ForwardProblem& p, bool backward) {
  return backward || p.pairs.type == PairType::boolean;
}

void place(const ForwardProblem& p, bool backward, Pieces& pieces, prepare::Params& params) {
  const int64_t rows = padded(p.q_rows), keys = padded(p.kv_rows);
  const int64_t words = entries(p) * rows * (keys / kBitColumns);  // as many by row as by key
  if (needs_words(p, backward)) params.by_row = pieces.take<kernels::PairWords>(words);
  params.tiles = pieces.take<kernels::TileRuns>(entries(p) * (rows / kTableTile));
  if (!backward) return;
  params.by_key = pieces.take<kernels::PairWords>(words);
  params.key_tiles = pieces.take<kernels::TileRows>(entries(p) * (keys / kTableTile));
}

std::size_t pair_bits_bytes(const ForwardProblem& p, bool backward) {
  Pieces pieces{nullptr};
  prepare::Params params{};
  place(p, backward, pieces, params);
  return pieces.used;
}

uint32_t hidden_value(PairType type) {
  return type == PairType::boolean ? 0 : type == PairType::fp16 ? 0xFC00 : 0xFF80;
}

// Whether four neighbouring keys of any row are one aligned word.
bool lie_in_words(const kernels::PairParams& pairs) {
  const int64_t strides[] = {pairs.batch_stride, pairs.head_stride, pairs.row_stride, pairs.kv_rows};
  const std::uintptr_t word = pairs.type == PairType::boolean ? 4 : 8;
  return pairs.key_stride == 1 && reinterpret_cast<std::uintptr_t>(pairs.data) % word == 0 &&
         std::all_of(std::begin(strides), std::end(strides), [](int64_t stride) { return stride % 4 == 0; });
}

}  // namespace

bool ampere_takes_bits(const ForwardProblem& p) {
  if (!p.attn_mask) return false;
  return p.pairs.type == PairType::boolean || (p.pairs.type != PairType::fp32 && p.q_rows > kTableTile);
}

std::size_t with_pair_bits(std::size_t bytes, const ForwardProblem& p, bool backward) {
  return ceil_div(bytes, kWorkspaceAlignment) * kWorkspaceAlignment + pair_bits_bytes(p, backward);
}

prepare::Params pair_bits_params(const ForwardProblem& p, const Scores& scores, bool backward,
                                 Workspace workspace) {
  prepare::Params params{};
  params.pairs = pair_scores_of(p, scores).pairs;
  params.hidden = hidden_value(params.pairs.type);
  params.by_words = lie_in_words(params.pairs);
  // Beside spans the bits are of the tensor alone: a prefix shows what a causal mask would hide.
  params.by_mask = p.spans.given() ? everything(p) : runs_of(p);
  params.entries = static_cast<int>(entries(p));
  params.heads = static_cast<int>(heads(p));
  params.padded_rows = static_cast<int>(padded(p.q_rows));
  params.padded_keys = static_cast<int>(padded(p.kv_rows));
  Pieces pieces{static_cast<std::byte*>(workspace.data) + workspace.bytes - pair_bits_bytes(p, backward)};
  place(p, backward, pieces, params);
  return params;
}

kernels::PairBits pair_bits(const prepare::Params& params) {
  return {.by_row = params.by_row,
          .tiles = params.tiles,
          .by_key = params.by_key,
          .key_tiles = params.key_tiles,
          .padded_rows = params.padded_rows,
          .padded_keys = params.padded_keys,
          .batch_entries = params.entries > params.heads ? params.heads : 0,
          .head_entries = params.heads > 1 ? 1 : 0};
}

}  // namespace flashmoe::dispatch
