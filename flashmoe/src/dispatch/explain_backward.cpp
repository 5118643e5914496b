// SPDX-License-Identifier: MIT
#include "dispatch/explain_backward.h"

#include "dispatch/scores.h"
#include "problem/lengths_in_words.h"
#include "problem/scores_in_words.h"
#include "problem/window_in_words.h"

namespace flashmoe::dispatch {
namespace {

// What the bytes are for: the formula of BackwardPlan::workspace_bytes with its numbers.
std::string workspace_of(const BackwardPlan& plan, const ForwardProblem& p) {
  if (plan.workspace_bytes == 0) return "none";
  const auto number = [](int64_t n) { return std::to_string(n); };
  if (plan.kernel == BackwardKernel::naive_backward)
    return number(static_cast<int64_t>(plan.workspace_bytes)) +
           (p.lengths.given ? " bytes: lists of tiles" : " bytes: what rows see") +
           (p.lengths.given && p.spans.given() ? " + what rows see" : "");
  return number(static_cast<int64_t>(plan.workspace_bytes)) + " bytes = 4 x " +
         number((p.lengths.given ? 1 : p.batch) * p.q_heads) + " heads x " + number(plan.padded_rows) +
         " rows x (" + number(plan.head_dim) + " sums of dq + 2)" +
         (plan.deterministic ? " + counters that put the sums in order" : " + a counter of 4") +
         (p.spans.given() ? " + what rows see" : "") +
         (p.attn_mask && plan.kernel == BackwardKernel::hopper_backward
              ? " + two bits for each pair and what whole tiles have"
              : "") +
         (p.lengths.given ? " + lists of tiles" : "");
}

// How the kernels get at a tensor's values.
const char* pairs_in_words(const BackwardPlan& plan, const ForwardProblem& p) {
  if (plan.kernel == BackwardKernel::ampere_backward) return "the tensor as it lies, element by element";
  return adds_bias(p) ? "the tensor by TMA, but for tiles that prepare_pairs has found empty before"
                      : "one bit says whether each counts, which prepare_pairs makes of the tensor before";
}

// Who computes the gradient of what is added to scores.
std::string pair_gradient_in_words(const BackwardPlan& plan, const ForwardProblem& p) {
  if (!plan.with_dpairs)
    return "by the scalar kernel naive_dpairs behind all else, with the same bits in every run";
  return std::string("by the same kernel, ") + (p.pairs.gradients == PairGradients::sums
                                                    ? "summed in the order in which tiles finish"
                                                    : "with the same bits in every run");
}

}  // namespace

std::string explain(const BackwardPlan& plan, const ForwardProblem& p, const device::Spec& spec) {
  const bool scalar = plan.kernel == BackwardKernel::naive_backward;
  std::string text = std::string("cuda: ") + name_of(plan.kernel) +
                     (plan.general ? " in its general form" : "") + ", because: " + plan.reason + "\n";
  text += "tiles: " + std::to_string(plan.tile_q) + " query rows x " + std::to_string(plan.tile_kv) +
          " keys, head_dim " + std::to_string(p.head_dim) + " in a form compiled for " +
          std::to_string(plan.head_dim) + "\n";
  if (const std::string words = window_in_words(p); !words.empty()) text += "window: " + words + "\n";
  if (const std::string words = scores_in_words(p); !words.empty()) text += "scores: " + words + "\n";
  if (const std::string lengths = lengths_in_words(p.lengths); !lengths.empty())
    text += "lengths: " + lengths + ", in lists of tiles that prepare_lengths makes before, longest first\n";
  if (const std::string spans = spans_in_words(p.spans); !spans.empty())
    text += "spans: " + spans + ", in a table that prepare_runs makes before\n";
  if (!scalar && p.attn_mask) text += std::string("pairs: ") + pairs_in_words(plan, p) + "\n";
  if (p.pairs.gradients != PairGradients::none)
    text += "gradient of the attn_mask: " + pair_gradient_in_words(plan, p) + "\n";
  if (!scalar) {
    const int64_t tiles = (p.lengths.given ? 1 : p.batch) * p.kv_heads * plan.key_tiles;
    text += "grid: " + std::to_string(tiles) +
            (p.lengths.given ? " tiles of keys at most, " : " tiles of keys, ") +
            (plan.blocks < tiles ? "shared by " + std::to_string(plan.blocks) + " blocks of " : "") +
            std::to_string(plan.threads) + " threads and " + std::to_string(plan.smem_bytes) +
            " bytes of shared memory each, on " + std::to_string(spec.sms) +
            " SMs; prepare_backward before, finish_backward after\n";
  }
  text += std::string("same bits in every run: dk and dv") +
          (scalar || plan.deterministic ? ", and dq" : "; dq is summed in the order in which tiles finish") +
          "\n";
  return text + "workspace: " + workspace_of(plan, p) + "\n";
}

}  // namespace flashmoe::dispatch
