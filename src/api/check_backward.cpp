// SPDX-License-Identifier: MIT
#include "api/check_backward.h"

#include "api/check_tensors.h"

namespace flashmoe {
namespace {

constexpr TensorChecks kChecks("attention_backward");

}  // namespace

ForwardProblem check_shapes(const BackwardArgs& args) {
  const NamedTensor q{"q", args.q}, k{"k", args.k}, out{"out", args.out}, dout{"dout", args.dout};
  const NamedTensor dq{"dq", args.dq}, dk{"dk", args.dk}, dv{"dv", args.dv};
  kChecks.tensors({q, k, {"v", args.v}, out, dout, dq, dk, dv});
  const ForwardProblem problem =
      kChecks.problem(args.q, args.k, args.v, args.mask, args.scale, args.execution);
  for (const NamedTensor& t : {out, dout, dq}) kChecks.same_shape(t, q);
  for (const NamedTensor& t : {dk, dv}) kChecks.same_shape(t, k);
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
  for (const NamedTensor& gradient : {dq, dk, dv}) {
    kChecks.nests(gradient);
    kChecks.apart(NamedBytes::of(gradient), {NamedBytes::of(q), NamedBytes::of(k), NamedBytes::of(v),
                                             NamedBytes::of(out), NamedBytes::of(dout), lse, dlse});
  }
  kChecks.apart(NamedBytes::of(dk), {NamedBytes::of(dq)});
  kChecks.apart(NamedBytes::of(dv), {NamedBytes::of(dq), NamedBytes::of(dk)});
  return problem;
}

void check_workspace_apart(const BackwardArgs& args, const ForwardProblem& problem, Workspace workspace) {
  kChecks.apart({"workspace", Footprint::of(workspace.data, workspace.bytes)},
                {NamedBytes::of({"q", args.q}), NamedBytes::of({"k", args.k}), NamedBytes::of({"v", args.v}),
                 NamedBytes::of({"out", args.out}), NamedBytes::of({"dout", args.dout}),
                 NamedBytes::of({"dq", args.dq}), NamedBytes::of({"dk", args.dk}),
                 NamedBytes::of({"dv", args.dv}), NamedBytes::of("lse", args.lse, rows_of(problem)),
                 NamedBytes::of("dlse", args.dlse, rows_of(problem))});
}

}  // namespace flashmoe
