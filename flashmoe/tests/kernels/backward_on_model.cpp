// SPDX-License-Identifier: MIT
#include "kernels/backward_on_model.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "dispatch/row_table.h"
#include "dispatch/run_backward.h"
#include "kernels/finish_backward/launch.h"
#include "kernels/on_model.h"
#include "kernels/prepare_backward/launch.h"
#include "kernels/prepare_runs/launch.h"
#include "support/backward_call.h"

namespace flashmoe::test {

void run_backward_on_model(BackwardProblem& problem, bool deterministic, const model::Settings& settings,
                           const MainKernel& main_kernel, const dispatch::BackwardChoice& choice,
                           const PrepareLengths& prepare, const PrepareRows& prepare_rows) {
  struct Forget {
    ~Forget() { model::forget_memory(); }
  } const forget;
  model::settings() = settings;
  BackwardArgs args = arguments_of(problem, deterministic);
  const auto row_bytes =
      static_cast<std::size_t>(args.q.sizes[0] * args.q.sizes[1] * args.q.sizes[2]) * sizeof(float);
  allow_tensor("q", args.q, false);
  allow_tensor("k", args.k, false);
  allow_tensor("v", args.v, false);
  allow_tensor("out", args.out, false);
  allow_tensor("dout", args.dout, false);
  allow_tensor("dq", args.dq, true);
  allow_spans(args);
  allow_lengths(args);
  allow_tensor("dk", args.dk, true);
  allow_tensor("dv", args.dv, true);
  model::allow_memory("lse", args.lse, row_bytes, false);
  if (args.dlse != nullptr) model::allow_memory("dlse", args.dlse, row_bytes, false);
  const std::array<int64_t, 4> pairs{sequences_of(args), args.q.sizes[1], args.q.sizes[2], args.k.sizes[2]};
  allow_scores(args.scores, pairs);
  allow_pairs("dattn_mask", args.dattn_mask.data, args.dattn_mask.strides, sizeof(float), pairs, true);
  if (args.dsinks != nullptr) {
    model::allow_memory("dsinks", args.dsinks, static_cast<std::size_t>(args.q.sizes[1]) * sizeof(float),
                        true);
  }
  const ForwardProblem& p = problem.forward.problem;
  auto plan =
      dispatch::plan_backward(p, dispatch::addressing_of(args), device::find("H200"), deterministic, choice);
  // One to three, so that persistent ones walk over many tiles.
  plan.blocks = std::min(plan.blocks, 1 + static_cast<unsigned>(settings.seed % 3));
  // A heap block of exactly this size, full of NaN patterns.
  const std::size_t bytes = plan.workspace_bytes + kWorkspaceAlignment;
  const std::unique_ptr<std::byte[]> space(new std::byte[bytes]);
  std::memset(space.get(), 0xFF, bytes);
  Workspace workspace = Workspace::in(space.get(), bytes);
  workspace.bytes = plan.workspace_bytes;
  model::allow_memory("workspace", workspace.data, plan.workspace_bytes, true);
  if (!main_kernel) return dispatch::run_backward(plan, p, args, workspace);
  kernels::BackwardParams params = dispatch::params_for(plan, p, args, workspace);
  if (p.spans.given() && !p.lengths.given) {
    const auto rows = dispatch::row_table_params(p, args.spans, true, {workspace.data, plan.workspace_bytes});
    kernels::prepare_runs::launch(rows, nullptr);
    params.table = dispatch::row_table(p, rows);
  }
  const auto lengths = p.lengths.given ? dispatch::length_params_for(plan, p, args, workspace)
                                       : kernels::prepare_lengths::Params{};
  if (p.lengths.given) prepare(lengths);
  if (p.lengths.given && p.spans.given()) {
    const auto rows =
        dispatch::sequence_table_params(p, args.spans, lengths, true, {workspace.data, plan.workspace_bytes});
    prepare_rows(rows);
    params.table = dispatch::row_table(p, rows);
  }
  dispatch::differentiate_sinks(p, args);
  if (plan.kernel == dispatch::BackwardKernel::naive_backward) return main_kernel(params);
  if (p.lengths.given) {
    const kernels::PaddedSequences padded = dispatch::padded_sequences(plan, p, lengths);
    kernels::prepare_backward::launch_sequences(p.dtype, params, padded, nullptr);
    main_kernel(params);
    return kernels::finish_backward::launch_sequences(p.dtype, params, padded, nullptr);
  }
  kernels::prepare_backward::launch(p.dtype, params, nullptr);
  main_kernel(params);
  kernels::finish_backward::launch(p.dtype, params, nullptr);
}

std::string trouble_with_backward(const Shape& shape, const BackwardOnModel& how) {
  BackwardProblem problem(shape, how.with_dlse);
  const reference::BackwardResult expected = problem.oracle();
  for (int seed = 0; seed < how.seeds; ++seed) {
    for (model::CopyTime copies : {model::CopyTime::late, model::CopyTime::early}) {
      problem.poison_gradients();
      std::string wrong;
      try {
        // Both at the same time on even seeds, one early and one late on odd ones.
        const bool late = (copies == model::CopyTime::late) == (seed % 2 == 0);
        run_backward_on_model(problem, how.deterministic,
                              {.seed = static_cast<uint64_t>(seed),
                               .copies = copies,
                               .tma = copies,
                               .wgmma = late ? model::CopyTime::late : model::CopyTime::early},
                              {}, how.choice);
        wrong = problem.disagreement(expected);
      } catch (const std::exception& failure) {
        wrong = failure.what();
      }
      if (!wrong.empty()) {
        return describe(shape) + ", seed " + std::to_string(seed) +
               (copies == model::CopyTime::late ? ", late copies: " : ", early copies: ") + wrong;
      }
    }
  }
  return "";
}

}  // namespace flashmoe::test
