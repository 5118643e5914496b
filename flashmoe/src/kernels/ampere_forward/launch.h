// SPDX-License-Identifier: MIT
#pragma once

#include "flashmoe/attention.h"
#include "kernels/ampere_forward/general.h"
#include "kernels/forward_params.h"
#include "kernels/runs.h"

namespace flashmoe::kernels::ampere_forward {

// One compiled form, as the planner sees it.
struct Form {
  int head_dim;  // compiled
  int tile_q, tile_kv, threads, smem_bytes;
};

inline constexpr int kHeadDims[] = {32, 64, 96, 128, 192, 256};
inline constexpr int kUnalignedHeadDims[] = {64, 128, 256};
inline constexpr int kRunsHeadDims[] = {64, 128, 256};  // and of the general form

// The form for the smallest compiled head_dim that holds this one.
Form form_for(int head_dim, bool aligned);
// The same where rows see runs of keys that may begin anywhere; rows are aligned.
Form form_for_runs(int head_dim);
// The same in the general form, and in that with a tensor.
Form general_form_for(int head_dim);
Form pairs_form_for(int head_dim);

inline namespace FLASHMOE_TARGET {
// fp16 and bf16. `aligned`: all rows of q, k, v and out are whole pieces of 16 bytes.
void launch(DType dtype, bool aligned, const ForwardParams& params, unsigned blocks, void* stream);
// The same where rows see `runs`, whatever mask `params` has; aligned.
void launch_runs(DType dtype, const ForwardParams& params, const Runs& runs, unsigned blocks, void* stream);
// The general form; aligned.
void launch_general(DType dtype, const ForwardParams& params, const GeneralParams& general, unsigned blocks,
                    void* stream);
// The general form with a tensor; aligned, and without lengths.
void launch_pairs(DType dtype, const ForwardParams& params, const GeneralParams& general,
                  const GeneralPairs& pairs, unsigned blocks, void* stream);
}  // namespace FLASHMOE_TARGET

}  // namespace flashmoe::kernels::ampere_forward
