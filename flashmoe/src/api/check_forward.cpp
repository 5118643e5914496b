// SPDX-License-Identifier: MIT
#include "api/check_forward.h"

#include "api/check_lengths.h"
#include "api/check_scores.h"
#include "api/check_spans.h"
#include "api/check_tensors.h"

namespace flashmoe {
namespace {

constexpr TensorChecks kChecks("attention_forward");

}  // namespace

ForwardProblem check_shapes(const ForwardArgs& args) {
  const NamedTensor q{"q", args.q}, out{"out", args.out};
  kChecks.tensors({q, {"k", args.k}, {"v", args.v}, out});
  ForwardProblem problem = kChecks.problem(args.q, args.k, args.v, args.mask, args.window, args.scale,
                                           args.execution, args.lengths, args.spans);
  kChecks.same_shape(out, q);
  check_scores(kChecks, args.scores, args.lengths, problem);
  check_dropout(kChecks, args.dropout, problem);
  if (problem.attn_mask && args.lengths.given() && args.execution.device != Device::cpu) {
    kChecks.unsupported("scores.attn_mask and lengths are given, which no GPU kernel takes together",
                        "compute on the CPU: device = cpu");
  }
  return problem;
}

ForwardProblem check_forward(const ForwardArgs& args) {
  const ForwardProblem problem = check_shapes(args);
  const NamedTensor q{"q", args.q}, k{"k", args.k}, v{"v", args.v}, out{"out", args.out};
  kChecks.pointers({q, k, v, out});
  kChecks.pointer("lse", args.lse);
  const NamedBytes q_bytes = NamedBytes::of(q), k_bytes = NamedBytes::of(k), v_bytes = NamedBytes::of(v);
  const NamedBytes out_bytes = NamedBytes::of(out);
  kChecks.nests(out, out_bytes);
  kChecks.apart(out_bytes, {&q_bytes, &k_bytes, &v_bytes});
  const NamedBytes lse = NamedBytes::of("lse", args.lse, rows_of(problem));
  kChecks.apart(lse, {&q_bytes, &k_bytes, &v_bytes, &out_bytes});
  const ScoresBytes scores(args.scores, problem, args.lengths);
  for (const NamedBytes* written : {&out_bytes, &lse})
    kChecks.apart(*written, {&scores.slopes, &scores.sinks, &scores.attn_mask});
  if (!args.lengths.given() && !args.spans.given()) return problem;
  const LengthsBytes lengths(args.lengths);
  const SpansBytes spans(args.spans, args.lengths, problem);
  for (const NamedBytes* written : {&out_bytes, &lse}) {
    kChecks.apart(*written, {&lengths.q_starts, &lengths.k_starts, &lengths.q_used, &lengths.k_used});
    kChecks.apart(*written, {&spans.documents, &spans.prefix, &spans.left_padding});
  }
  return problem;
}

void check_workspace_apart(const ForwardArgs& args, const ForwardProblem& problem, Workspace used) {
  const NamedBytes workspace{"workspace", Footprint::of(used.data, used.bytes)};
  for (const NamedTensor& t : {NamedTensor{"q", args.q}, {"k", args.k}, {"v", args.v}, {"out", args.out}}) {
    const NamedBytes bytes = NamedBytes::of(t);
    kChecks.apart(workspace, {&bytes});
  }
  const NamedBytes lse = NamedBytes::of("lse", args.lse, rows_of(problem));
  const LengthsBytes lengths(args.lengths);
  const SpansBytes spans(args.spans, args.lengths, problem);
  const ScoresBytes scores(args.scores, problem, args.lengths);
  kChecks.apart(workspace, {&scores.slopes, &scores.sinks, &scores.attn_mask});
  kChecks.apart(workspace, {&lse, &lengths.q_starts, &lengths.k_starts, &lengths.q_used, &lengths.k_used});
  kChecks.apart(workspace, {&spans.documents, &spans.prefix, &spans.left_padding});
}

}  // namespace flashmoe
