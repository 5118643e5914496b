// SPDX-License-Identifier: MIT
// A plan in words.
#include <algorithm>
#include <string>

#include "dispatch/pair_bits.h"
#include "dispatch/plan.h"
#include "dispatch/plan_kernels.h"
#include "dispatch/runs.h"
#include "problem/lengths_in_words.h"
#include "problem/scores_in_words.h"
#include "problem/window_in_words.h"

namespace flashmoe::dispatch {
namespace {

const char* in_words(ProgrammaticLaunch launch) {
  switch (launch) {
    case ProgrammaticLaunch::off:
      return "";
    case ProgrammaticLaunch::on:
      return "programmatic launch: starts while the kernel before it on the stream ends\n";
    case ProgrammaticLaunch::not_by_this_kernel:
      return "programmatic launch: asked for, and not done: only small_forward and unsplit decode_forward "
             "can\n";
    case ProgrammaticLaunch::not_on_this_gpu:
      return "programmatic launch: asked for, and not done: it needs compute capability 9.0\n";
  }
  return "";
}

// How far rows see, and what that leaves of the keys for a tile of them.
std::string window_of(const ForwardPlan& plan, const ForwardProblem& p) {
  const std::string words = window_in_words(p);
  if (words.empty()) return {};
  if (p.lengths.given) return "window: " + words + "\n";
  const int64_t blocks = ceil_div(p.kv_rows, int64_t{plan.tile_kv});
  const int64_t tiles = ceil_div(p.q_rows * plan.pack, int64_t{plan.tile_q});
  int64_t most = 0;
  for (int64_t tile = 0; tile < tiles; ++tile)
    most = std::max(most, key_blocks(p, plan.tile_q, plan.tile_kv, plan.pack, tile));
  return "window: " + words + ": a tile walks over at most " + std::to_string(most) + " of " +
         std::to_string(blocks) + " blocks of keys\n";
}

// How a tensor for every pair is read.
std::string pairs_of(const ForwardPlan& plan, const ForwardProblem& p) {
  const bool ampere = plan.kernel == ForwardKernel::ampere_forward;
  if (!p.attn_mask || !(ampere || plan.kernel == ForwardKernel::hopper_forward)) return {};
  if (p.pairs.type == PairType::boolean)
    return "pairs: what the tensor shows, in bits that prepare_pairs makes before\n";
  return std::string("pairs: the tensor ") + (ampere ? "from where it lies" : "by TMA") +
         (ampere && !ampere_takes_bits(p) ? "\n"
                                          : ", but for tiles that prepare_pairs has found empty before\n");
}

// What the kernel's general form is needed for; null where another runs.
const char* general_form_for(const ForwardPlan& plan, const ForwardProblem& p) {
  if (plan.kernel == ForwardKernel::naive) return needs_general_naive(p);
  return plan.kernel == ForwardKernel::ampere_forward ? needs_general(p) : nullptr;
}

}  // namespace

const char* name_of(ForwardKernel kernel) {
  switch (kernel) {
    case ForwardKernel::naive:
      return "naive";
    case ForwardKernel::ampere_forward:
      return "ampere_forward";
    case ForwardKernel::hopper_forward:
      return "hopper_forward";
    case ForwardKernel::small_forward:
      return "small_forward";
    case ForwardKernel::decode_forward:
      return "decode_forward";
  }
  return "?";
}

std::string explain(const ForwardPlan& plan, const ForwardProblem& problem, const device::Spec& spec) {
  std::string text = std::string("cuda: ") + name_of(plan.kernel) + ", because: " + plan.reason + "\n";
  text += "tiles: " + std::to_string(plan.tile_q) + " query rows x " + std::to_string(plan.tile_kv) +
          " keys, head_dim " + std::to_string(problem.head_dim) + " in a form compiled for " +
          std::to_string(plan.head_dim) + (plan.aligned ? "" : ", rows at any alignment") + "\n";
  if (const char* general = general_form_for(plan, problem))
    text += std::string("form: the general one, for ") + general + "\n";
  text += window_of(plan, problem);
  if (const std::string words = scores_in_words(problem); !words.empty()) text += "scores: " + words + "\n";
  if (const std::string lengths = lengths_in_words(problem.lengths); !lengths.empty())
    text += "lengths: " + lengths + ", in a list of tiles that prepare_lengths makes before, longest first\n";
  if (const std::string spans = spans_in_words(problem.spans); !spans.empty())
    text += "spans: " + spans + ", in a table that prepare_runs makes before\n";
  text += pairs_of(plan, problem);
  if (plan.pack > 1)
    text += "packed: the " + std::to_string(plan.pack) + " query heads of a K/V head share tiles\n";
  text += "grid: " + std::to_string(plan.blocks) + " blocks" + (problem.lengths.given ? " at most" : "");
  if (plan.blocks < plan.tiles) text += " that share " + std::to_string(plan.tiles) + " tiles";
  if (plan.cluster > 1) text += " x " + std::to_string(plan.cluster) + " in a cluster that shares the keys";
  if (plan.num_splits > 1)
    text += " x " + std::to_string(plan.num_splits) + " splits of the keys, then combine_splits";
  text += ", " + std::to_string(plan.threads) + " threads and " + std::to_string(plan.smem_bytes) +
          " bytes of shared memory each, on " + std::to_string(spec.sms) + " SMs\n";
  if (plan.workspace_bytes > 0) text += "workspace: " + std::to_string(plan.workspace_bytes) + " bytes\n";
  return text + in_words(plan.programmatic);
}

}  // namespace flashmoe::dispatch
