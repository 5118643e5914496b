// SPDX-License-Identifier: MIT
#include "api/check_backward.h"

#include "api/check_lengths.h"
#include "api/check_scores.h"
#include "api/check_spans.h"
#include "api/check_tensors.h"

namespace flashmoe {
namespace {

constexpr TensorChecks kChecks("attention_backward");

NamedBytes bytes_of(const PairGradient& gradient, const Tensor& as_tensor) {
  if (gradient.data == nullptr) return {"dattn_mask", {}};
  return NamedBytes::of({"dattn_mask", as_tensor});
}

}  // namespace

ForwardProblem check_shapes(const BackwardArgs& args) {
  const NamedTensor q{"q", args.q}, k{"k", args.k}, out{"out", args.out}, dout{"dout", args.dout};
  const NamedTensor dq{"dq", args.dq}, dk{"dk", args.dk}, dv{"dv", args.dv};
  kChecks.tensors({q, k, {"v", args.v}, out, dout, dq, dk, dv});
  ForwardProblem problem = kChecks.problem(args.q, args.k, args.v, args.mask, args.window, args.scale,
                                           args.execution, args.lengths, args.spans);
  for (const NamedTensor& t : {out, dout, dq}) kChecks.same_shape(t, q);
  for (const NamedTensor& t : {dk, dv}) kChecks.same_shape(t, k);
  check_scores(kChecks, args.scores, args.lengths, problem);
  check_dropout(kChecks, args.dropout, problem);
  if (problem.attn_mask && args.lengths.given() && args.execution.device != Device::cpu) {
    kChecks.unsupported("scores.attn_mask and lengths are given, which no GPU kernel takes together",
                        "compute on the CPU: device = cpu");
  }
  check_pair_gradient(kChecks, args.dattn_mask, args.scores, problem);
  problem.pairs.gradients = problem.pair_gradients(args.dattn_mask);
  if (args.dsinks != nullptr && args.scores.sinks == nullptr)
    kChecks.refuse("dsinks is given and scores.sinks is null", "give the sinks that the forward had");
  return problem;
}

ForwardProblem check_backward(const BackwardArgs& args) {
  const ForwardProblem problem = check_shapes(args);
  const NamedTensor q{"q", args.q}, k{"k", args.k}, v{"v", args.v}, out{"out", args.out},
      dout{"dout", args.dout};
  const NamedTensor dq{"dq", args.dq}, dk{"dk", args.dk}, dv{"dv", args.dv};
  kChecks.pointers({q, k, v, out, dout, dq, dk, dv});
  if (args.lse == nullptr && rows_of(problem) > 0) {
    kChecks.refuse("lse is null; it must be what attention_forward stored",
                   "give ForwardArgs::lse to the forward pass and keep it");
  }
  kChecks.pointer("lse", args.lse);
  kChecks.pointer("dlse", args.dlse);
  const NamedBytes lse = NamedBytes::of("lse", args.lse, rows_of(problem));
  const NamedBytes dlse = NamedBytes::of("dlse", args.dlse, rows_of(problem));
  const NamedBytes inputs[] = {NamedBytes::of(q), NamedBytes::of(k), NamedBytes::of(v), NamedBytes::of(out),
                               NamedBytes::of(dout)};
  const NamedBytes gradients[] = {NamedBytes::of(dq), NamedBytes::of(dk), NamedBytes::of(dv)};
  kChecks.nests(dq, gradients[0]);
  kChecks.nests(dk, gradients[1]);
  kChecks.nests(dv, gradients[2]);
  for (const NamedBytes& gradient : gradients) {
    kChecks.apart(gradient, {&inputs[0], &inputs[1], &inputs[2], &inputs[3], &inputs[4], &lse, &dlse});
  }
  kChecks.apart(gradients[1], {&gradients[0]});
  kChecks.apart(gradients[2], {&gradients[0], &gradients[1]});
  kChecks.pointer("dsinks", args.dsinks);
  const ScoresBytes scores(args.scores, problem, args.lengths);
  const NamedBytes dsinks = NamedBytes::of("dsinks", args.dsinks, problem.q_heads);
  for (const NamedBytes* gradient : {&gradients[0], &gradients[1], &gradients[2], &dsinks})
    kChecks.apart(*gradient, {&scores.slopes, &scores.sinks, &scores.attn_mask});
  kChecks.apart(dsinks, {&inputs[0], &inputs[1], &inputs[2], &inputs[3], &inputs[4], &lse, &dlse,
                         &gradients[0], &gradients[1], &gradients[2]});
  kChecks.pointer("dattn_mask", args.dattn_mask.data);
  const Tensor pairs = pair_gradient(args.dattn_mask, problem);
  const NamedBytes dattn_mask = bytes_of(args.dattn_mask, pairs);
  kChecks.nests({"dattn_mask", pairs}, dattn_mask);
  kChecks.apart(dattn_mask,
                {&inputs[0], &inputs[1], &inputs[2], &inputs[3], &inputs[4], &lse, &dlse, &gradients[0],
                 &gradients[1], &gradients[2], &dsinks, &scores.slopes, &scores.sinks, &scores.attn_mask});
  if (!args.lengths.given() && !args.spans.given()) return problem;
  const LengthsBytes lengths(args.lengths);
  const SpansBytes spans(args.spans, args.lengths, problem);
  for (const NamedBytes* gradient : {&gradients[0], &gradients[1], &gradients[2], &dsinks, &dattn_mask}) {
    kChecks.apart(*gradient, {&lengths.q_starts, &lengths.k_starts, &lengths.q_used, &lengths.k_used});
    kChecks.apart(*gradient, {&spans.documents, &spans.prefix, &spans.left_padding});
  }
  return problem;
}

void check_workspace_apart(const BackwardArgs& args, const ForwardProblem& problem, Workspace used) {
  const NamedBytes workspace{"workspace", Footprint::of(used.data, used.bytes)};
  for (const NamedTensor& t : {NamedTensor{"q", args.q},
                               {"k", args.k},
                               {"v", args.v},
                               {"out", args.out},
                               {"dout", args.dout},
                               {"dq", args.dq},
                               {"dk", args.dk},
                               {"dv", args.dv}}) {
    const NamedBytes bytes = NamedBytes::of(t);
    kChecks.apart(workspace, {&bytes});
  }
  const NamedBytes lse = NamedBytes::of("lse", args.lse, rows_of(problem));
  const NamedBytes dlse = NamedBytes::of("dlse", args.dlse, rows_of(problem));
  const NamedBytes dsinks = NamedBytes::of("dsinks", args.dsinks, problem.q_heads);
  const ScoresBytes scores(args.scores, problem, args.lengths);
  const NamedBytes dattn_mask = bytes_of(args.dattn_mask, pair_gradient(args.dattn_mask, problem));
  kChecks.apart(workspace, {&dsinks, &dattn_mask, &scores.slopes, &scores.sinks, &scores.attn_mask});
  const LengthsBytes lengths(args.lengths);
  kChecks.apart(workspace,
                {&lse, &dlse, &lengths.q_starts, &lengths.k_starts, &lengths.q_used, &lengths.k_used});
  const SpansBytes spans(args.spans, args.lengths, problem);
  kChecks.apart(workspace, {&spans.documents, &spans.prefix, &spans.left_padding});
}

}  // namespace flashmoe
