// SPDX-License-Identifier: MIT
#include "dispatch/plan_lengths.h"

#include <algorithm>

#include "dispatch/hopper.h"
#include "dispatch/plan_kernels.h"
#include "dispatch/row_table.h"
#include "dispatch/sequence_tiles.h"
#include "kernels/hopper_forward/launch.h"
#include "kernels/hopper_forward/spec.h"

namespace flashmoe::dispatch {
namespace {

// Why hopper_forward can't take lengths here; null when it can.
const char* lengths_too_much_for_hopper(const ForwardProblem& p, Addressing addressing,
                                        const device::Spec& spec) {
  if (const char* change = needs_change(p)) return change;
  if (p.spans.given()) return kSpansBesideLengths;
  return too_much_for_hopper(p, addressing, spec);
}

ForwardPlan plan_hopper_lengths(const ForwardProblem& p, const device::Spec& spec, std::optional<int> choice,
                                const char* reason) {
  namespace hopper = kernels::hopper_forward;
  const auto takes = [&](int index) {
    return hopper::takes_lengths(hopper::kTunings[index]) && hopper::kTunings[index].head_dim >= p.head_dim;
  };
  int index = 0;  // rows stand in the order of their head_dim
  while (!takes(index)) ++index;
  if (choice && (*choice < 0 || *choice >= hopper::kNumTunings || !takes(*choice))) {
    refuse_forward("tuning is " + std::to_string(*choice) + "; of hopper_forward's " +
                   std::to_string(hopper::kNumTunings) + " not all take lengths, and head_dim " +
                   std::to_string(p.head_dim));
  }
  index = choice.value_or(index);
  const hopper::Tuning& tuning = hopper::kTunings[index];
  ForwardPlan plan{.kernel = ForwardKernel::hopper_forward,
                   .head_dim = tuning.head_dim,
                   .tile_q = tuning.tile_q(),
                   .tile_kv = tuning.tile_kv,
                   .threads = tuning.threads(),
                   .smem_bytes = hopper::smem_bytes(index),
                   .tuning = index,
                   .reason = reason};
  add_tiles_of_lengths(plan, p);
  if (tuning.blocks_per_sm == 1) plan.blocks = std::min(plan.tiles, static_cast<unsigned>(spec.sms));
  return plan;
}

}  // namespace

TileLists lists_of(const ForwardPlan& plan) {
  return {.tile_q = plan.tile_q / plan.pack, .from_end = plan.kernel == ForwardKernel::hopper_forward};
}

void add_tiles_of_lengths(ForwardPlan& plan, const ForwardProblem& p) {
  const int64_t tiles = most_q_tiles(p, lists_of(plan).tile_q);
  const int64_t heads = p.q_heads / plan.pack;
  if (heads > 0 && tiles > kMaxBlocks / heads) {
    refuse_forward("the sequences have up to " + std::to_string(tiles) + " tiles of " +
                       std::to_string(heads) + " heads, more than the 2^31 - 1 blocks of a grid",
                   "split the sequences over several calls");
  }
  plan.tiles = static_cast<unsigned>(heads * tiles);
  plan.blocks = plan.tiles;
  plan.workspace_bytes = with_row_table(with_tile_lists(0, p, lists_of(plan)), p, false);
}

ForwardPlan choose_for_lengths(const ForwardProblem& problem, Addressing addressing, const device::Spec& spec,
                               const ForwardChoice& choice) {
  if (choice.num_splits.value_or(1) > 1)
    refuse_forward("no kernel shares out the keys of a problem with lengths");
  const char* scalar = problem.dtype == DType::fp32 ? "fp32 inputs, computed in fp32 throughout"
                       : problem.kv_rows == 0       ? "no keys"
                                                    : nullptr;
  const char* not_hopper = scalar ? scalar : lengths_too_much_for_hopper(problem, addressing, spec);
  const char* not_ampere = scalar ? scalar : too_much_for_ampere(problem, addressing.aligned);
  const ForwardKernel kernel = choice.kernel.value_or(!not_hopper   ? ForwardKernel::hopper_forward
                                                      : !not_ampere ? ForwardKernel::ampere_forward
                                                                    : ForwardKernel::naive);
  if (kernel == ForwardKernel::naive)
    return plan_naive(problem, spec, choice.kernel ? "asked for" : not_ampere);
  const char* too_much = kernel == ForwardKernel::hopper_forward   ? not_hopper
                         : kernel == ForwardKernel::ampere_forward ? not_ampere
                                                                   : "lengths";
  if (too_much)
    refuse_forward(std::string("the chosen kernel, ") + name_of(kernel) + ", does not take " + too_much);
  if (kernel == ForwardKernel::ampere_forward) {
    return plan_ampere_lengths(problem, choice.kernel     ? "asked for"
                                        : spec.arch == 90 ? not_hopper
                                                          : "16-bit inputs: tensor cores");
  }
  return plan_hopper_lengths(problem, spec, choice.tuning,
                             choice.kernel
                                 ? "asked for"
                                 : "sequences of different lengths in 16-bit inputs on sm_90: wgmma "
                                   "and TMA");
}

}  // namespace flashmoe::dispatch
