// SPDX-License-Identifier: MIT
#include "dispatch/backward.h"

#include <algorithm>
#include <limits>
#include <string>

#include "device/occupancy.h"
#include "dispatch/hopper.h"
#include "dispatch/pair_bits.h"
#include "dispatch/plan_lengths.h"
#include "dispatch/row_table.h"
#include "dispatch/scores.h"
#include "dispatch/sequence_tiles.h"
#include "flashmoe/error.h"
#include "kernels/ampere_backward/launch.h"
#include "kernels/ampere_backward/spec.h"
#include "kernels/backward_params.h"
#include "kernels/hopper_backward/launch.h"
#include "kernels/hopper_backward/spec.h"
#include "kernels/naive_backward/smem.h"
#include "numeric/ceil_div.h"

namespace flashmoe::dispatch {
namespace {

namespace ampere = kernels::ampere_backward;
namespace hopper = kernels::hopper_backward;
namespace naive = kernels::naive_backward;

[[noreturn]] void refuse(const std::string& what, const std::string& remedy = {},
                         std::source_location where = std::source_location::current()) {
  throw Error(ErrorCode::unsupported, "attention_backward on cuda: " + what, remedy, where);
}

int64_t padded_rows(const ForwardProblem& p) {
  return ceil_div(p.q_rows, kernels::kRowPadding) * kernels::kRowPadding;
}

// Of one head, as kernels/padded_sequences.h lays them out.
int64_t padded_rows_of_lengths(const ForwardProblem& p) {
  return p.lengths.q_packed ? padded_rows(p) + p.lengths.sequences * kernels::kRowPadding
                            : p.lengths.sequences * padded_rows(p);
}

void check_limits(const ForwardProblem& p, const device::Spec& spec) {
  if (spec.arch < 80) {
    refuse("this GPU has compute capability " + std::to_string(spec.arch / 10) + "." +
               std::to_string(spec.arch % 10) + "; kernels exist from 8.0 on",
           "compute on the CPU: device = cpu");
  }
  if (p.head_dim > kMaxHeadDim) {
    refuse("head_dim is " + std::to_string(p.head_dim) + "; accepted are 1 to " +
           std::to_string(kMaxHeadDim));
  }
  constexpr int64_t kMaxSequences = 1 << 20;  // which prepare_lengths has two blocks for, each
  if (p.lengths.sequences > kMaxSequences) {
    refuse("lengths.sequences is " + std::to_string(p.lengths.sequences) + "; accepted are up to 2^20",
           "split the sequences over several calls");
  }
  // So that rows, tiles and pieces of dq are numbers that fit an int.
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int64_t kMaxRows = int64_t{1} << 30;
  if (p.q_rows > kMaxRows || p.kv_rows > kMaxRows || p.batch * p.q_heads > kMost / (padded_rows(p) / 16) ||
      p.batch * p.kv_heads > kMost / ceil_div(p.kv_rows, 32)) {
    refuse("q has " + std::to_string(p.q_rows) + " rows of " + std::to_string(p.batch * p.q_heads) +
               " heads, k has " + std::to_string(p.kv_rows) + " of " + std::to_string(p.batch * p.kv_heads) +
               "; accepted are up to 2^30 rows of a head, and 2^31 - 1 tiles of 16 queries or 32 keys",
           "split the batch over several calls");
  }
}

// Why no tensor-core kernel can take it on any GPU; null when one can.
const char* needs_scalar(const ForwardProblem& p, Addressing addressing) {
  if (p.dtype == DType::fp32) return "fp32 inputs, computed in fp32 throughout";
  return p.head_dim % 8 != 0 || !addressing.aligned ? "rows that are not whole pieces of 16 bytes" : nullptr;
}

// Why the tensor-core kernels can't take lengths; null when they can.
const char* lengths_need_scalar(const ForwardProblem& p) {
  if (!p.lengths.given) return nullptr;
  if (p.q_rows == 0 || p.kv_rows == 0) return "no rows or no keys";
  constexpr int64_t kMost = int64_t{1} << 31;  // so that rows and pieces of dq are numbers that fit an int
  return p.q_heads * padded_rows_of_lengths(p) >= kMost ? "more than 2^31 rows in its workspace" : nullptr;
}

// Why hopper_backward can't take it here; null when it can.
const char* too_much_for_hopper_backward(const ForwardProblem& p, Addressing addressing,
                                         const device::Spec& spec) {
  if (const char* scalar = needs_scalar(p, addressing)) return scalar;
  if (const char* not_hopper = too_much_for_hopper(p, addressing, spec)) return not_hopper;
  if (p.dropout.p > 0) return kDropout;
  if (const char* lengths = lengths_need_scalar(p)) return lengths;
  if (p.lengths.given && p.changes_scores()) return "scores that change, beside lengths";
  if (p.lengths.given && p.spans.given()) return kSpansBesideLengths;
  return backward_change(p) ? nullptr : "scores that change in a way that hopper_backward has no form for";
}

// The same of ampere_backward, whose general form takes all but this.
const char* too_much_for_ampere_backward(const ForwardProblem& p, Addressing addressing, bool deterministic) {
  if (const char* scalar = needs_scalar(p, addressing)) return scalar;
  if (deterministic && p.spans.first_keys > 0) return "sums in a fixed order, with first keys beside a run";
  // Where lengths are not what they should be, tables count on turns that nobody takes.
  if (deterministic && p.lengths.given && p.spans.given())
    return "sums in a fixed order, with spans beside lengths";
  return lengths_need_scalar(p);
}

// Whether ampere_backward leaves the gradient of what is added to scores in the same pass. Sums in a fixed
// order are naive_backward's.
bool leaves_pair_gradient(const ForwardProblem& p, bool deterministic) {
  return p.pairs.gradients == PairGradients::of_pairs ||
         (p.pairs.gradients == PairGradients::sums && !deterministic);
}

// In which order blocks take the tiles of keys.
void order_tiles(BackwardPlan& plan, const ForwardProblem& p, const device::Spec& spec) {
  if (plan.deterministic) {
    plan.last_first = true;  // as the kernels' turn_of() needs it
    // Without a mask all of a head's blocks begin with the same queries, one turn after the other, and so
    // they end. With as many heads side by side as the GPU holds blocks for, their places go to the next
    // heads' blocks in the same order, and nobody waits again. Causal blocks begin with queries of their own,
    // unless a tensor says what rows see: then all begin with the first.
    const bool begins_together = p.mask == Mask::none && !p.window.limits() && !p.spans.given();
    if (plan.kernel == BackwardKernel::hopper_backward && (begins_together || p.attn_mask)) {
      const int64_t fit = std::max<int64_t>(1, spec.sms / plan.key_tiles);
      plan.heads_at_once = static_cast<int>(std::min(fit, p.batch * p.kv_heads));
    }
    return;
  }
  // A head's tiles side by side share its Q and dO in the L2 cache. Causal ones differ in length: from 2k on
  // it pays to begin with the longest of several heads (NOTES.md). Those under a window hardly do.
  if (p.mask == Mask::none || p.window.limits() || p.kv_rows < 2048) return;
  // Groups of two rounds of the GPU: in the second its short blocks follow the first's long ones. A group
  // with a part of a round leaves the next one's longest blocks for last, with the other SMs idle.
  // Documents and chunks share no queries, and are mostly shorter than a long head: of that, so many keys
  // count. The more heads side by side, the fewer keys of each are left for the end, and the shorter its
  // tiles.
  constexpr int64_t kKeysTogether = 4096;
  const bool apart = p.spans.documents || p.spans.chunk > 0;
  const int64_t together = ceil_div(apart ? std::min(p.kv_rows, kKeysTogether) : p.kv_rows, plan.tile_kv);
  const int64_t heads = p.batch * p.kv_heads;
  const int64_t two_rounds = 2 * int64_t{spec.sms};
  const int64_t groups = std::max<int64_t>(1, (heads * together + spec.sms) / two_rounds);
  plan.heads_at_once = static_cast<int>(ceil_div(heads, groups));
}

BackwardPlan plan_naive(const ForwardProblem& p, bool deterministic, const char* reason) {
  const bool general = p.changes_pairs() || p.lengths.given;
  return {.kernel = BackwardKernel::naive_backward,
          .head_dim = p.head_dim <= 64    ? 64
                      : p.head_dim <= 128 ? 128
                                          : 256,
          .tile_q = naive::kTile,
          .tile_kv = naive::kTile,
          .threads = naive::kThreads,
          .smem_bytes = static_cast<int>(general ? sizeof(naive::GeneralSmem) : sizeof(naive::Smem)),
          .key_tiles = static_cast<int>(ceil_div(p.kv_rows, naive::kTile)),
          .general = general,
          .deterministic = deterministic,
          .workspace_bytes = with_row_table(
              p.lengths.given ? with_tile_lists(0, p, {.tile_q = naive::kTile, .tile_kv = naive::kTile}) : 0,
              p, true),
          .reason = reason};
}

// Heads whose tiles of sequences stand side by side: all, so that the longest of all heads come first. In
// order, each addition to dq is waited for, and takes longer where it leaves the L2 cache: then as many as
// fit there, with q, dout and k, v; but without a mask a sequence's tiles all begin with its first queries,
// one behind the other, and others have to fill that time.
int lengths_at_once(const BackwardPlan& plan, const ForwardProblem& p, const device::Spec& spec) {
  if (!plan.deterministic || (p.mask == Mask::none && !p.window.limits()))
    return static_cast<int>(p.kv_heads);
  const int64_t of_q = p.group() * plan.padded_rows * plan.head_dim * 8;
  const int64_t of_k = p.batch * p.kv_rows * plan.head_dim * 4;
  return static_cast<int>(std::clamp<int64_t>(spec.l2_bytes / 2 / (of_q + of_k), 1, p.kv_heads));
}

// Of workspace, for so many padded rows of all heads.
int64_t words_of(const BackwardPlan& plan, int64_t rows) {
  const int64_t turns = plan.deterministic ? rows * plan.head_dim / kernels::kDqPieceFloats : 0;
  return rows * (plan.head_dim + 2) + 1 + turns;
}

// What the main kernel's row of its table does not say.
void complete(BackwardPlan& plan, const ForwardProblem& p, const device::Spec& spec) {
  if (p.lengths.given) {
    plan.padded_rows = static_cast<int>(padded_rows_of_lengths(p));
    plan.key_tiles = static_cast<int>(most_k_tiles(p, plan.tile_kv));
    plan.heads_at_once = lengths_at_once(plan, p, spec);
    const auto bytes = static_cast<std::size_t>(words_of(plan, p.q_heads * plan.padded_rows)) * sizeof(float);
    plan.workspace_bytes = with_row_table(with_tile_lists(bytes, p, lists_of(plan)), p, true);
    plan.blocks = static_cast<unsigned>(p.kv_heads * plan.key_tiles);
    return;
  }
  plan.padded_rows = static_cast<int>(padded_rows(p));
  plan.key_tiles = static_cast<int>(ceil_div(p.kv_rows, plan.tile_kv));
  order_tiles(plan, p, spec);
  const int64_t words = words_of(plan, p.batch * p.q_heads * plan.padded_rows);
  plan.blocks = static_cast<unsigned>(p.batch * p.kv_heads * plan.key_tiles);
  plan.workspace_bytes = with_row_table(static_cast<std::size_t>(words) * sizeof(float), p, true);
  if (p.attn_mask && plan.kernel == BackwardKernel::hopper_backward)
    plan.workspace_bytes = with_pair_bits(plan.workspace_bytes, p, true);
}

BackwardPlan plan_hopper(const ForwardProblem& p, const device::Spec& spec, bool deterministic,
                         const char* reason) {
  int index = 0;
  while (hopper::kTunings[index].head_dim < p.head_dim) ++index;
  const hopper::Tuning& tuning = hopper::kTunings[index];
  BackwardPlan plan{
      .kernel = BackwardKernel::hopper_backward,
      .tuning = index,
      .head_dim = tuning.head_dim,
      .tile_q = tuning.tile_q,
      .tile_kv = tuning.tile_kv,
      .threads = hopper::kThreads,
      .smem_bytes = adds_bias(p) ? hopper::smem_bytes_with_bias(index) : hopper::smem_bytes(index),
      .deterministic = deterministic,
      .reason = reason};
  complete(plan, p, spec);
  if ((p.lengths.given || p.spans.given()) && hopper::is_persistent(tuning))
    plan.blocks = std::min(plan.blocks, static_cast<unsigned>(spec.sms));
  return plan;
}

bool takes(int index, const ForwardProblem& p, const device::Spec& spec) {
  return index >= 0 && index < ampere::kNumTunings && ampere::kTunings[index].head_dim >= p.head_dim &&
         ampere::smem_bytes(index) <= spec.smem_per_block;
}

// The first row of its table that takes the problem and whose blocks have company on an SM as they should:
// rows of a head_dim are in the order of preference.
int ampere_tuning(const ForwardProblem& p, const device::Spec& spec) {
  const auto suits = [&](int index) {
    const ampere::Tuning& tuning = ampere::kTunings[index];
    return takes(index, p, spec) && device::blocks_per_sm(spec, tuning.threads(), 255,
                                                          ampere::smem_bytes(index)) >= tuning.blocks_per_sm;
  };
  int index = 0;
  while (!suits(index)) ++index;
  return index;
}

// The one row of a head_dim that its general form has.
int general_tuning(const ForwardProblem& p) {
  int index = 0;
  while (!ampere::is_general(index) || ampere::kTunings[index].head_dim < p.head_dim) ++index;
  return index;
}

BackwardPlan plan_ampere(const ForwardProblem& p, const device::Spec& spec, bool deterministic,
                         std::optional<int> choice, const char* reason) {
  const bool general = p.changes_pairs() || p.spans.given() || p.lengths.given;
  if (choice && (!takes(*choice, p, spec) || (general && !ampere::is_general(*choice)))) {
    refuse("tuning is " + std::to_string(*choice) + "; ampere_backward has 0 to " +
           std::to_string(ampere::kNumTunings - 1) + ", and not all of them take head_dim " +
           std::to_string(p.head_dim) + (general ? " in its general form here" : " here"));
  }
  const int index = choice.value_or(general ? general_tuning(p) : ampere_tuning(p, spec));
  const ampere::Tuning& tuning = ampere::kTunings[index];
  BackwardPlan plan{.kernel = BackwardKernel::ampere_backward,
                    .tuning = index,
                    .head_dim = tuning.head_dim,
                    .tile_q = tuning.tile_q,
                    .tile_kv = tuning.tile_kv,
                    .threads = tuning.threads(),
                    .smem_bytes = general ? ampere::smem_bytes_general(index) : ampere::smem_bytes(index),
                    .general = general,
                    .with_dpairs = leaves_pair_gradient(p, deterministic),
                    .deterministic = deterministic,
                    .reason = reason};
  complete(plan, p, spec);
  return plan;
}

}  // namespace

const char* name_of(BackwardKernel kernel) {
  switch (kernel) {
    case BackwardKernel::naive_backward:
      return "naive_backward";
    case BackwardKernel::ampere_backward:
      return "ampere_backward";
    case BackwardKernel::hopper_backward:
      return "hopper_backward";
  }
  return "";
}

TileLists lists_of(const BackwardPlan& plan) {
  if (plan.kernel == BackwardKernel::naive_backward) return {.tile_q = plan.tile_q, .tile_kv = plan.tile_kv};
  return {.tile_kv = plan.tile_kv,
          .from_end = plan.kernel == BackwardKernel::hopper_backward,
          .last_first = plan.deterministic};
}

BackwardPlan plan_backward(const ForwardProblem& p, Addressing addressing, const device::Spec& spec,
                           bool deterministic, const BackwardChoice& choice) {
  check_limits(p, spec);
  const char* not_hopper = too_much_for_hopper_backward(p, addressing, spec);
  const char* not_ampere = too_much_for_ampere_backward(p, addressing, deterministic);
  // hopper_backward leaves a tensor's gradient to a scalar kernel behind it.
  const bool in_one_pass = !not_ampere && leaves_pair_gradient(p, deterministic);
  const BackwardKernel kernel = choice.kernel                 ? *choice.kernel
                                : !not_hopper && !in_one_pass ? BackwardKernel::hopper_backward
                                : !not_ampere                 ? BackwardKernel::ampere_backward
                                                              : BackwardKernel::naive_backward;
  if (kernel == BackwardKernel::naive_backward)
    return plan_naive(p, deterministic, choice.kernel ? "asked for" : not_ampere);
  const bool is_hopper = kernel == BackwardKernel::hopper_backward;
  if (const char* too_much = is_hopper ? not_hopper : not_ampere)
    refuse(std::string("the chosen kernel, ") + name_of(kernel) + ", does not take " + too_much);
  if (is_hopper) {
    return plan_hopper(p, spec, deterministic,
                       choice.kernel ? "asked for"
                       : p.lengths.given
                           ? "sequences of different lengths in 16-bit inputs on sm_90: wgmma and TMA"
                           : "16-bit inputs on sm_90: wgmma and TMA");
  }
  return plan_ampere(p, spec, deterministic, choice.tuning,
                     choice.kernel     ? "asked for"
                     : spec.arch != 90 ? "16-bit inputs: tensor cores"
                     : not_hopper      ? not_hopper
                                       : "the gradient of what is added to scores, in the same pass");
}

std::size_t backward_workspace_bytes(const ForwardProblem& problem, const device::Spec& spec,
                                     bool deterministic) {
  std::size_t bytes = 0;
  for (const Addressing addressing :
       {Addressing(true, true), Addressing(true, false), Addressing(false, false)}) {
    bytes = std::max(bytes, plan_backward(problem, addressing, spec, deterministic).workspace_bytes);
  }
  return bytes;
}

}  // namespace flashmoe::dispatch
