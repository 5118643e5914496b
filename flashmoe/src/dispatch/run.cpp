// SPDX-License-Identifier: MIT
// From a plan to launches. Compiled twice where there is CUDA: for the GPU, and for the model of one.
#include "dispatch/run.h"

#include "dispatch/pair_bits.h"
#include "dispatch/plan_kernels.h"
#include "dispatch/row_table.h"
#include "dispatch/runs.h"
#include "dispatch/scores.h"
#include "dispatch/sequence_tiles.h"
#include "kernels/ampere_forward/launch.h"
#include "kernels/combine_splits/launch.h"
#include "kernels/decode_forward/launch.h"
#include "kernels/hopper_forward/launch.h"
#include "kernels/naive/launch.h"
#include "kernels/prepare_lengths/launch.h"
#include "kernels/prepare_pairs/launch.h"
#include "kernels/prepare_runs/launch.h"
#include "kernels/small_forward/launch.h"

namespace flashmoe::dispatch::inline FLASHMOE_TARGET {
namespace {

// Where there is one of something, the stride to the next may be anything. None is kept: kernels may form the
// address of what does not exist, as long as it is aligned and they do not read it.
kernels::View view(const Tensor& t) {
  const auto stride = [&](std::size_t i) { return t.sizes[i] == 1 ? 0 : t.strides[i]; };
  return {t.data, stride(0), stride(1), stride(2)};
}

kernels::ampere_forward::GeneralParams general_params(const ForwardProblem& p, const ForwardArgs& args,
                                                      const kernels::RowTable& table,
                                                      const kernels::SequenceTiles& tiles) {
  return {runs_of(p), table, tiles, general_scores_of(p, args.scores), dropout_of(p)};
}

void run_general_ampere(const ForwardPlan& plan, const ForwardProblem& p, const ForwardArgs& args,
                        const kernels::ForwardParams& params, const kernels::RowTable& table,
                        const kernels::SequenceTiles& tiles) {
  kernels::ForwardParams changed = params;
  changed.scale_log2e = general_scale_behind(p);
  kernels::ampere_forward::launch_general(p.dtype, changed, general_params(p, args, table, tiles),
                                          plan.blocks, args.execution.stream);
}

void run_ampere_with_pairs(const ForwardPlan& plan, const ForwardProblem& p, const ForwardArgs& args,
                           const kernels::ForwardParams& params, const kernels::RowTable& table,
                           Workspace workspace) {
  kernels::ForwardParams changed = params;
  changed.scale_log2e = general_scale_behind(p);
  kernels::PairBits bits{};
  if (ampere_takes_bits(p)) {
    const auto pairs = pair_bits_params(p, args.scores, false,
                                        {workspace.data, plan.workspace_bytes - row_table_bytes(p, false)});
    kernels::prepare_pairs::launch(pairs, args.execution.stream);
    bits = pair_bits(pairs);
  }
  kernels::ampere_forward::launch_pairs(p.dtype, changed, general_params(p, args, table, {}),
                                        {pair_scores_of(p, args.scores).pairs, bits}, plan.blocks,
                                        args.execution.stream);
}

void run_with_lengths(const ForwardPlan& plan, const ForwardProblem& p, const ForwardArgs& args,
                      Workspace workspace) {
  const auto lengths = length_params_for(plan, p, args, workspace);
  kernels::prepare_lengths::launch(lengths, args.execution.stream);
  if (plan.blocks == 0) return;  // no sequence has both rows and keys
  const kernels::ForwardParams params = params_for(plan, p, args, workspace);
  const kernels::SequenceTiles tiles = sequence_tiles(p, lengths, 0);
  if (plan.kernel == ForwardKernel::hopper_forward) {
    return kernels::hopper_forward::launch_lengths(p.dtype, params, tiles, places_of(p), plan.tuning,
                                                   plan.blocks, args.execution.stream);
  }
  kernels::RowTable table{};
  if (p.spans.given()) {
    const auto rows =
        sequence_table_params(p, args.spans, lengths, false, {workspace.data, plan.workspace_bytes});
    kernels::prepare_runs::launch_sequences(rows, args.execution.stream);
    table = row_table(p, rows);
  }
  if (plan.kernel == ForwardKernel::ampere_forward)
    return run_general_ampere(plan, p, args, params, table, tiles);
  kernels::naive::launch_lengths(p.dtype, params, tiles, table, scores_of(p, args.scores), dropout_of(p),
                                 plan.blocks, args.execution.stream);
}

}  // namespace

kernels::prepare_lengths::Params length_params_for(const ForwardPlan& plan, const ForwardProblem& p,
                                                   const ForwardArgs& args, Workspace workspace) {
  auto lengths = length_params(p, args.lengths, lists_of(plan),
                               {workspace.data, plan.workspace_bytes - row_table_bytes(p, false)});
  lengths.of_q = {.tensors = {view(args.out)},
                  .num_tensors = 1,
                  .heads = static_cast<int>(p.q_heads),
                  .lse = args.lse,
                  .sinks = args.scores.sinks};
  return lengths;
}

kernels::ForwardParams params_for(const ForwardPlan& plan, const ForwardProblem& p, const ForwardArgs& args,
                                  Workspace workspace) {
  kernels::ForwardParams params{};
  params.q = view(args.q);
  params.k = view(args.k);
  params.v = view(args.v);
  params.out = view(args.out);
  params.lse = args.lse;
  params.q_heads = static_cast<int>(p.q_heads);
  params.q_rows = static_cast<int>(p.q_rows);
  params.kv_rows = static_cast<int>(p.kv_rows);
  params.head_dim = static_cast<int>(p.head_dim);
  params.group = static_cast<int>(p.group());
  params.by_group = kernels::Divisor(static_cast<uint32_t>(p.group()));
  params.scale_log2e = static_cast<float>(p.scale * 1.4426950408889634);
  params.causal = p.mask != Mask::none;
  params.causal_shift = p.mask == Mask::causal ? static_cast<int>(p.kv_rows - p.q_rows) : 0;
  params.pack = plan.pack;
  params.by_pack = kernels::Divisor(static_cast<uint32_t>(plan.pack));
  params.order = {static_cast<int>((p.q_rows * plan.pack + plan.tile_q - 1) / plan.tile_q),
                  static_cast<int>(p.q_heads) / plan.pack, static_cast<int>(p.batch), plan.heads_at_once,
                  plan.last_first};
  if (p.lengths.given) {
    params.q = view_by_place(params.q, p.lengths.q_packed);
    params.k = view_by_place(params.k, p.lengths.k_packed);
    params.v = view_by_place(params.v, p.lengths.k_packed);
    params.out = view_by_place(params.out, p.lengths.q_packed);
    const auto heads = static_cast<int>(p.q_heads) / plan.pack;
    params.order = {static_cast<int>(most_q_tiles(p, lists_of(plan).tile_q)), heads, 1, heads, false};
  }
  params.num_splits = plan.num_splits;
  params.by_splits = kernels::Divisor(static_cast<uint32_t>(plan.num_splits));
  if (plan.num_splits > 1) {
    params.partial_out = static_cast<float*>(workspace.data);
    params.partial_stats = reinterpret_cast<kernels::RowStats*>(
        params.partial_out + plan.num_splits * p.batch * p.q_heads * p.q_rows * plan.head_dim);
  }
  return params;
}

void run_forward(const ForwardPlan& plan, const ForwardProblem& problem, const ForwardArgs& args,
                 Workspace workspace) {
  if (problem.lengths.given) return run_with_lengths(plan, problem, args, workspace);
  const kernels::ForwardParams params = params_for(plan, problem, args, workspace);
  void* stream = args.execution.stream;
  const bool programmatic = plan.programmatic == ProgrammaticLaunch::on;
  kernels::RowTable table{};
  if (problem.spans.given()) {
    const auto rows = row_table_params(problem, args.spans, false, {workspace.data, plan.workspace_bytes});
    kernels::prepare_runs::launch(rows, stream);
    table = row_table(problem, rows);
  }
  switch (plan.kernel) {
    case ForwardKernel::naive:
      if (needs_general_naive(problem)) {
        kernels::naive::launch_general(problem.dtype, params, runs_of(problem), table,
                                       pair_scores_of(problem, args.scores), dropout_of(problem), plan.blocks,
                                       stream);
      } else {
        kernels::naive::launch(problem.dtype, params, runs_of(problem), table, plan.blocks, stream);
      }
      break;
    case ForwardKernel::ampere_forward:
      if (problem.attn_mask) {
        run_ampere_with_pairs(plan, problem, args, params, table, workspace);
      } else if (needs_general(problem)) {
        run_general_ampere(plan, problem, args, params, table, {});
      } else if (problem.window.limits()) {
        kernels::ampere_forward::launch_runs(problem.dtype, params, runs_of(problem), plan.blocks, stream);
      } else {
        kernels::ampere_forward::launch(problem.dtype, plan.aligned, params, plan.blocks, stream);
      }
      break;
    case ForwardKernel::hopper_forward:
      if (problem.attn_mask) {
        const auto pairs =
            pair_bits_params(problem, args.scores, false, {workspace.data, plan.workspace_bytes});
        kernels::prepare_pairs::launch(pairs, stream);
        if (adds_bias(problem)) {
          kernels::ForwardParams changed = params;
          changed.scale_log2e = scale_behind(kernels::Change::bias, problem);
          kernels::hopper_forward::launch_bias(problem.dtype, changed, runs_of(problem), pair_bits(pairs),
                                               pair_scores_of(problem, args.scores), plan.tuning, plan.blocks,
                                               stream);
        } else {
          kernels::hopper_forward::launch_bits(problem.dtype, params, pair_bits(pairs), plan.tuning,
                                               plan.blocks, stream);
        }
      } else if (table.given()) {
        kernels::hopper_forward::launch_rows(problem.dtype, params, table, plan.tuning, plan.blocks, stream);
      } else if (const kernels::Change change = forward_change(problem).value();
                 change != kernels::Change::none) {
        kernels::ForwardParams changed = params;
        changed.scale_log2e = scale_behind(change, problem);
        kernels::hopper_forward::launch_scores(problem.dtype, changed, runs_of(problem), change,
                                               scores_of(problem, args.scores), plan.tuning, plan.blocks,
                                               stream);
      } else if (problem.window.limits()) {
        kernels::hopper_forward::launch_runs(problem.dtype, params, runs_of(problem), plan.tuning,
                                             plan.blocks, stream);
      } else {
        kernels::hopper_forward::launch(problem.dtype, params, plan.tuning, plan.blocks, stream);
      }
      break;
    case ForwardKernel::small_forward:
      kernels::small::launch(problem.dtype, params, plan.tuning, programmatic, stream);
      break;
    case ForwardKernel::decode_forward:
      kernels::decode::launch(problem.dtype, params, plan.tuning, programmatic, stream);
      break;
  }
  if (plan.num_splits > 1) kernels::combine_splits::launch(problem.dtype, params, plan.head_dim, stream);
}

}  // namespace flashmoe::dispatch::inline FLASHMOE_TARGET
