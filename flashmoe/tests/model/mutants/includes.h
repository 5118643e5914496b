// SPDX-License-Identifier: MIT
// What all mutants include, before any name is redefined.
#pragma once

#include <bit>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>

#include "kernels/ampere_forward/launch.h"
#include "kernels/backward_params.h"
#include "kernels/draw_kept_pairs.h"
#include "kernels/eight_rows.h"
#include "kernels/forward_params.h"
#include "kernels/head_pairs.h"
#include "kernels/head_scores.h"
#include "kernels/kept_pairs.h"
#include "kernels/large_scores.h"
#include "kernels/load_first_keys.h"
#include "kernels/load_pairs.h"
#include "kernels/load_row_table.h"
#include "kernels/padded_sequences.h"
#include "kernels/pair_bits.h"
#include "kernels/prepare_lengths/places.cuh"
#include "kernels/runs.h"
#include "kernels/sequence_tiles.h"
#include "model/mutants/ampere_backward_form.h"
#include "model/mutants/decode_form.h"
#include "model/mutants/hopper_backward_form.h"
#include "model/mutants/hopper_form.h"
#include "model/mutants/registry.h"
#include "numeric/half.h"
#include "numeric/lse_log2.h"
#include "numeric/score_function.h"
#include "primitives/arithmetic.h"
#include "primitives/barrier.h"
#include "primitives/bulk.h"
#include "primitives/chunk.h"
#include "primitives/cluster.h"
#include "primitives/control.h"
#include "primitives/cp_async.h"
#include "primitives/global_counter.h"
#include "primitives/index.h"
#include "primitives/launch.h"
#include "primitives/mbarrier.h"
#include "primitives/memory.h"
#include "primitives/min_max.h"
#include "primitives/registers.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"
#include "primitives/tma.h"
#include "primitives/warp_matrix.h"
#include "primitives/wgmma.h"
#include "problem/row_runs.h"

// A statement of a kernel that a test may take out while it runs.
#define FLASHMOE_MAY_BE_TAKEN_OUT(...)                                                  \
  do {                                                                                  \
    if (!::flashmoe::test::is_taken_out(__FILE__, __LINE__, #__VA_ARGS__)) __VA_ARGS__; \
  } while (false)
