// SPDX-License-Identifier: MIT
// Where a call with lengths keeps the lists of its tiles: at the end of its workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "flashmoe/attention.h"
#include "kernels/prepare_lengths/params.h"
#include "kernels/sequence_tiles.h"
#include "problem/forward_problem.h"

namespace flashmoe::dispatch {

// The lists of a plan: how many rows a tile of query rows has, and one of keys; 0: there is no such list.
struct TileLists {
  int tile_q = 0, tile_kv = 0;
  bool from_end = false, last_first = false;  // as prepare_lengths::List has them
};

// Tiles of so many query rows, or keys, that there may be, whatever the lengths are.
int64_t most_q_tiles(const ForwardProblem& problem, int tile_rows);
int64_t most_k_tiles(const ForwardProblem& problem, int tile_rows);

// A workspace of `bytes` and the lists behind it.
std::size_t with_tile_lists(std::size_t bytes, const ForwardProblem& problem, const TileLists& lists);

// What prepare_lengths is told, with the lists at the end of the workspace: [0] of query rows if there is
// one, then that of keys. What is to be cleared is not said yet.
kernels::prepare_lengths::Params length_params(const ForwardProblem& problem, const Lengths& lengths,
                                               const TileLists& lists, Workspace workspace);
// What others are told of a list.
kernels::SequenceTiles sequence_tiles(const ForwardProblem& problem,
                                      const kernels::prepare_lengths::Params& params, int list);

kernels::Places places_of(const ForwardProblem& problem);

// A tensor as kernels see it that take sequences by their places.
kernels::View view_by_place(const kernels::View& view, bool packed);

}  // namespace flashmoe::dispatch
