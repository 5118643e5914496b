// SPDX-License-Identifier: MIT
// From a plan to launches. Compiled twice where there is CUDA: for the GPU, and for the model of one.
#include "dispatch/run_backward.h"

#include <algorithm>

#include "dispatch/pair_bits.h"
#include "dispatch/row_table.h"
#include "dispatch/runs.h"
#include "dispatch/scores.h"
#include "dispatch/sequence_tiles.h"
#include "kernels/ampere_backward/launch.h"
#include "kernels/finish_backward/launch.h"
#include "kernels/hopper_backward/launch.h"
#include "kernels/naive_backward/launch.h"
#include "kernels/prepare_backward/launch.h"
#include "kernels/prepare_lengths/launch.h"
#include "kernels/prepare_pairs/launch.h"
#include "kernels/prepare_runs/launch.h"
#include "kernels/sink_gradients/launch.h"

namespace flashmoe::dispatch::inline FLASHMOE_TARGET {
namespace {

// Where there is one of something, the stride to the next may be anything: none is kept.
kernels::View view(const Tensor& t) {
  const auto stride = [&](std::size_t i) { return t.sizes[i] == 1 ? 0 : t.strides[i]; };
  return {t.data, stride(0), stride(1), stride(2)};
}

kernels::sink_gradients::SinkParams sink_params(const ForwardProblem& p, const BackwardArgs& args) {
  return {.out = view(args.out),
          .dout = view(args.dout),
          .lse = args.lse,
          .dlse = args.dlse,
          .sinks = args.scores.sinks,
          .dsinks = args.dsinks,
          .batch = static_cast<int>(p.batch),
          .q_heads = static_cast<int>(p.q_heads),
          .q_rows = static_cast<int>(p.q_rows),
          .head_dim = static_cast<int>(p.head_dim)};
}

// Behind prepare_backward, which has found what they need of each row.
void differentiate_sinks(const ForwardProblem& p, const BackwardArgs& args,
                         const kernels::BackwardParams& params) {
  if (args.dsinks == nullptr) return;
  kernels::sink_gradients::SinkParams sinks = sink_params(p, args);
  sinks.lse_log2 = params.lse_log2;
  sinks.delta = params.delta;
  sinks.padded_rows = params.padded_rows;
  kernels::sink_gradients::launch(p.dtype, sinks, args.execution.stream);
}

kernels::ampere_backward::GeneralParams general_params(const ForwardProblem& p, const BackwardArgs& args,
                                                       const kernels::BackwardParams& params,
                                                       const kernels::SequenceTiles& tiles = {},
                                                       const kernels::PaddedSequences& padded = {}) {
  const auto first_keys = static_cast<int>(std::min(p.spans.first_keys, p.kv_rows));
  return {params, scores_of(p, args.scores), dropout_of(p), first_keys, tiles, padded};
}

void run_with_lengths(const BackwardPlan& plan, const ForwardProblem& p, const BackwardArgs& args,
                      Workspace workspace) {
  const auto lengths = length_params_for(plan, p, args, workspace);
  kernels::prepare_lengths::launch(lengths, args.execution.stream);
  dispatch::differentiate_sinks(p, args);
  kernels::BackwardParams params = params_for(plan, p, args, workspace);
  // Without rows and keys there is nobody to read it.
  if (p.spans.given() && p.q_rows > 0 && p.kv_rows > 0) {
    const auto rows =
        sequence_table_params(p, args.spans, lengths, true, {workspace.data, plan.workspace_bytes});
    kernels::prepare_runs::launch_sequences(rows, args.execution.stream);
    params.table = row_table(p, rows);
  }
  if (plan.kernel != BackwardKernel::naive_backward) {
    const kernels::SequenceTiles tiles = sequence_tiles(p, lengths, 0);
    const kernels::PaddedSequences padded = padded_sequences(plan, p, lengths);
    kernels::prepare_backward::launch_sequences(p.dtype, params, padded, args.execution.stream);
    if (plan.kernel == BackwardKernel::hopper_backward) {
      kernels::hopper_backward::launch_lengths(p.dtype, params, tiles, padded, places_of(p), plan.tuning,
                                               args.execution.stream);
    } else {
      kernels::ampere_backward::launch_general(p.dtype, general_params(p, args, params, tiles, padded),
                                               plan.tuning, args.execution.stream);
    }
    return kernels::finish_backward::launch_sequences(p.dtype, params, padded, args.execution.stream);
  }
  const kernels::naive_backward::LengthParams scores{scores_of(p, args.scores), sequence_tiles(p, lengths, 0),
                                                     sequence_tiles(p, lengths, 1), lengths.lists[0].capacity,
                                                     lengths.lists[1].capacity};
  kernels::naive_backward::launch_lengths(p.dtype, params, scores, dropout_of(p), args.execution.stream);
}

kernels::PairSums pair_sums(const PairGradient& gradient) {
  const auto& strides = gradient.strides;
  return {gradient.data, strides[0], strides[1], strides[2], strides[3]};
}

// The gradient of a tensor that is added to scores, if it is wanted and no kernel before has left it: by a
// kernel of its own.
void differentiate_bias(const BackwardPlan& plan, const ForwardProblem& p, const BackwardArgs& args,
                        const kernels::BackwardParams& params) {
  if (args.dattn_mask.data == nullptr || plan.with_dpairs) return;
  kernels::naive_backward::launch_pair_gradient(p.dtype, params, pair_scores_of(p, args.scores),
                                                dropout_of(p), pair_sums(args.dattn_mask),
                                                args.execution.stream);
}

kernels::ampere_backward::GeneralPairParams pair_params(const BackwardPlan& plan, const ForwardProblem& p,
                                                        const BackwardArgs& args,
                                                        const kernels::BackwardParams& params) {
  return {general_params(p, args, params), pair_scores_of(p, args.scores).pairs,
          plan.with_dpairs ? pair_sums(args.dattn_mask) : kernels::PairSums{},
          p.pairs.gradients == PairGradients::sums};
}

// Where not every element is stored, there are zeros before.
void clear_bias_gradient(const BackwardPlan& plan, const ForwardProblem& p, const BackwardArgs& args,
                         const kernels::BackwardParams& params) {
  const bool stores_all = p.pairs.gradients == PairGradients::of_pairs && p.sees_all() && !p.spans.given();
  if (!plan.with_dpairs || stores_all) return;
  kernels::prepare_backward::launch_clear(params, pair_sums(args.dattn_mask), args.execution.stream);
}

// dK, dV and the sums of dQ, between prepare_backward and finish_backward.
void run_hopper(const BackwardPlan& plan, const ForwardProblem& p, const BackwardArgs& args,
                const kernels::BackwardParams& params, const kernels::PairBits& bits) {
  namespace hopper = kernels::hopper_backward;
  void* stream = args.execution.stream;
  const kernels::Change change = backward_change(p).value();
  kernels::BackwardParams changed = params;
  if (change != kernels::Change::none) changed.scale_log2e = scale_behind(change, p);
  if (change == kernels::Change::bias)
    return hopper::launch_bias(p.dtype, changed, bits, pair_scores_of(p, args.scores), plan.tuning, stream);
  if (bits.given()) return hopper::launch_bits(p.dtype, params, bits, plan.tuning, stream);
  if (change != kernels::Change::none)
    return hopper::launch_scores(p.dtype, changed, change, scores_of(p, args.scores), plan.tuning, stream);
  (params.table.given() ? hopper::launch_rows
   : p.window.limits()  ? hopper::launch_runs
                        : hopper::launch)(p.dtype, params, plan.tuning, stream);
}

}  // namespace

kernels::prepare_lengths::Params length_params_for(const BackwardPlan& plan, const ForwardProblem& p,
                                                   const BackwardArgs& args, Workspace workspace) {
  auto lengths = length_params(p, args.lengths, lists_of(plan),
                               {workspace.data, plan.workspace_bytes - row_table_bytes(p, true)});
  lengths.of_q = {.tensors = {view(args.dq)}, .num_tensors = 1, .heads = static_cast<int>(p.q_heads)};
  lengths.of_k = {
      .tensors = {view(args.dk), view(args.dv)}, .num_tensors = 2, .heads = static_cast<int>(p.kv_heads)};
  return lengths;
}

kernels::PaddedSequences padded_sequences(const BackwardPlan& plan, const ForwardProblem& p,
                                          const kernels::prepare_lengths::Params& lengths) {
  return {.starts = lengths.q.starts,
          .used = lengths.q.used,
          .sequences = lengths.sequences,
          .rows = static_cast<int>(p.q_rows),
          // ampere_backward counts from the first row: its loads leave out what is not there.
          .tile_rows = plan.kernel == BackwardKernel::ampere_backward ? 1 : plan.tile_q,
          .lse_stride = sequence_tiles(p, lengths, 0).lse_stride};
}

kernels::BackwardParams params_for(const BackwardPlan& plan, const ForwardProblem& p,
                                   const BackwardArgs& args, Workspace workspace) {
  kernels::BackwardParams params{};
  params.q = view(args.q);
  params.k = view(args.k);
  params.v = view(args.v);
  params.out = view(args.out);
  params.dout = view(args.dout);
  params.dq = view(args.dq);
  params.dk = view(args.dk);
  params.dv = view(args.dv);
  if (p.lengths.given) {
    for (kernels::View* of_q : {&params.q, &params.out, &params.dout, &params.dq})
      *of_q = view_by_place(*of_q, p.lengths.q_packed);
    for (kernels::View* of_k : {&params.k, &params.v, &params.dk, &params.dv})
      *of_k = view_by_place(*of_k, p.lengths.k_packed);
  }
  params.lse = args.lse;
  params.dlse = args.dlse;
  // Sequences of different lengths lie behind one another in the workspace of one entry.
  const bool in_one_entry = p.lengths.given && plan.kernel != BackwardKernel::naive_backward;
  params.batch = in_one_entry ? 1 : static_cast<int>(p.batch);
  params.q_heads = static_cast<int>(p.q_heads);
  params.kv_heads = static_cast<int>(p.kv_heads);
  params.q_rows = static_cast<int>(p.q_rows);
  params.kv_rows = static_cast<int>(p.kv_rows);
  params.head_dim = static_cast<int>(p.head_dim);
  params.group = static_cast<int>(p.group());
  params.scale = p.scale;
  params.scale_log2e = static_cast<float>(p.scale * 1.4426950408889634);
  params.runs = runs_of(p);
  params.causal_shift = params.runs.end - 1;
  params.order = {plan.key_tiles, params.kv_heads, params.batch, plan.heads_at_once, plan.last_first};
  params.blocks = plan.blocks;
  params.padded_rows = plan.padded_rows;
  params.padded_dim = plan.head_dim;
  params.in_order = plan.deterministic;
  params.sums_by_element = plan.kernel == BackwardKernel::ampere_backward;
  const int64_t rows = params.batch * p.q_heads * plan.padded_rows;
  params.lse_log2 = static_cast<float*>(workspace.data);
  params.delta = params.lse_log2 + rows;
  params.dq_sums = params.delta + rows;
  params.counters = reinterpret_cast<int*>(params.dq_sums + rows * plan.head_dim);
  return params;
}

void run_backward(const BackwardPlan& plan, const ForwardProblem& problem, const BackwardArgs& args,
                  Workspace workspace) {
  if (problem.lengths.given) return run_with_lengths(plan, problem, args, workspace);
  kernels::BackwardParams params = params_for(plan, problem, args, workspace);
  void* stream = args.execution.stream;
  if (problem.spans.given()) {
    const auto rows = row_table_params(problem, args.spans, true, {workspace.data, plan.workspace_bytes});
    kernels::prepare_runs::launch(rows, stream);
    params.table = row_table(problem, rows);
  }
  if (plan.kernel == BackwardKernel::naive_backward) {
    differentiate_sinks(problem, args);
    if (!plan.general) return kernels::naive_backward::launch(problem.dtype, params, stream);
    kernels::naive_backward::launch_general(problem.dtype, params, pair_scores_of(problem, args.scores),
                                            dropout_of(problem), stream);
    return differentiate_bias(plan, problem, args, params);
  }
  kernels::PairBits bits;
  if (problem.attn_mask && plan.kernel == BackwardKernel::hopper_backward) {
    const auto pairs = pair_bits_params(problem, args.scores, true, {workspace.data, plan.workspace_bytes});
    kernels::prepare_pairs::launch(pairs, stream);
    bits = pair_bits(pairs);
  }
  clear_bias_gradient(plan, problem, args, params);
  kernels::prepare_backward::launch(problem.dtype, params, stream);
  differentiate_sinks(problem, args, params);
  if (plan.kernel == BackwardKernel::hopper_backward) {
    run_hopper(plan, problem, args, params, bits);
  } else if (problem.attn_mask) {
    kernels::ampere_backward::launch_pairs(problem.dtype, pair_params(plan, problem, args, params),
                                           plan.tuning, stream);
  } else if (plan.general) {
    kernels::ampere_backward::launch_general(problem.dtype, general_params(problem, args, params),
                                             plan.tuning, stream);
  } else {
    (problem.window.limits() ? kernels::ampere_backward::launch_runs : kernels::ampere_backward::launch)(
        problem.dtype, params, plan.tuning, stream);
  }
  kernels::finish_backward::launch(problem.dtype, params, stream);
  differentiate_bias(plan, problem, args, params);
}

void differentiate_sinks(const ForwardProblem& p, const BackwardArgs& args) {
  if (args.dsinks == nullptr || p.q_heads == 0) return;
  kernels::sink_gradients::launch(p.dtype, sink_params(p, args), args.execution.stream);
}

}  // namespace flashmoe::dispatch::inline FLASHMOE_TARGET
