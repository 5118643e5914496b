// SPDX-License-Identifier: MIT
#include "dispatch/backward.h"

#include <algorithm>
#include <string>

#include "dispatch/hopper.h"
#include "kernels/backward_params.h"
#include "kernels/hopper_backward/launch.h"
#include "kernels/hopper_backward/spec.h"
#include "numeric/ceil_div.h"

namespace flashmoe::dispatch {
namespace {

namespace gradients = kernels::hopper_backward;

// Why hopper_backward does not take the problem; null when it does.
const char* too_much(const ForwardProblem& p, Addressing addressing, const device::Spec& spec) {
  if (p.dtype == DType::fp32) return "fp32";
  if (p.head_dim % 8 != 0) return "a head_dim that is no multiple of 8";
  if (p.head_dim > gradients::kTunings[gradients::kNumTunings - 1].head_dim) return "so large a head_dim";
  return too_much_for_hopper(addressing, spec);
}

// In which order blocks take the tiles of keys.
void order_tiles(BackwardPlan& plan, const ForwardProblem& p, const device::Spec& spec) {
  if (plan.deterministic) {
    plan.last_first = true;  // as reduce.cuh needs it
    return;
  }
  // A head's tiles side by side share its Q and dO in the L2 cache. Causal ones differ in length: from 2k on
  // it pays to begin with the longest of several heads (NOTES.md).
  if (p.mask == Mask::none || p.kv_rows < 2048) return;
  const int64_t head_bytes = (p.kv_rows + p.group() * p.q_rows) * 2 * p.head_dim * element_bytes(p.dtype);
  const int64_t fit = std::max<int64_t>(1, spec.l2_bytes / 2 / head_bytes);
  plan.heads_at_once = static_cast<int>(std::min(fit, p.batch * p.kv_heads));
}

}  // namespace

BackwardPlan plan_backward(const ForwardProblem& p, Addressing addressing, const device::Spec& spec,
                           bool deterministic) {
  if (const char* why = too_much(p, addressing, spec); why != nullptr) {
    throw Error(ErrorCode::unsupported, std::string("attention_backward: no kernel takes ") + why);
  }
  BackwardPlan plan;
  plan.deterministic = deterministic;
  plan.tuning = 0;
  while (gradients::kTunings[plan.tuning].head_dim < p.head_dim) ++plan.tuning;
  plan.head_dim = gradients::kTunings[plan.tuning].head_dim;
  plan.tile_q = gradients::kTunings[plan.tuning].tile_q;
  plan.tile_kv = gradients::kTunings[plan.tuning].tile_kv;
  plan.smem_bytes = gradients::smem_bytes(plan.tuning);
  plan.padded_rows = static_cast<int>(ceil_div(p.q_rows, kernels::kRowPadding) * kernels::kRowPadding);
  plan.key_tiles = static_cast<int>(ceil_div(p.kv_rows, plan.tile_kv));
  order_tiles(plan, p, spec);
  const int64_t rows = p.batch * p.q_heads * plan.padded_rows;
  int64_t words = rows * (plan.head_dim + 2);
  if (deterministic) words += 1 + rows * plan.head_dim / kernels::kDqPieceFloats;
  plan.workspace_bytes = static_cast<std::size_t>(words) * sizeof(float);
  return plan;
}

}  // namespace flashmoe::dispatch
