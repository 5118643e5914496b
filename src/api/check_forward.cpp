// SPDX-License-Identifier: MIT
#include "api/check_forward.h"

#include "api/check_tensors.h"

namespace flashmoe {
namespace {

constexpr TensorChecks kChecks("attention_forward");

}  // namespace

ForwardProblem check_shapes(const ForwardArgs& args) {
  const NamedTensor q{"q", args.q}, out{"out", args.out};
  kChecks.tensors({q, {"k", args.k}, {"v", args.v}, out});
  const ForwardProblem problem =
      kChecks.problem(args.q, args.k, args.v, args.mask, args.scale, args.execution);
  kChecks.same_shape(out, q);
  return problem;
}

ForwardProblem check_forward(const ForwardArgs& args) {
  const ForwardProblem problem = check_shapes(args);
  const NamedTensor q{"q", args.q}, k{"k", args.k}, v{"v", args.v}, out{"out", args.out};
  kChecks.pointers({q, k, v, out});
  kChecks.pointer("lse", args.lse);
  kChecks.nests(out);
  const NamedBytes q_bytes = NamedBytes::of(q), k_bytes = NamedBytes::of(k), v_bytes = NamedBytes::of(v);
  const NamedBytes out_bytes = NamedBytes::of(out);
  kChecks.apart(out_bytes, {q_bytes, k_bytes, v_bytes});
  kChecks.apart(NamedBytes::of("lse", args.lse, rows_of(problem)), {q_bytes, k_bytes, v_bytes, out_bytes});
  return problem;
}

void check_workspace_apart(const ForwardArgs& args, const ForwardProblem& problem, Workspace workspace) {
  kChecks.apart({"workspace", Footprint::of(workspace.data, workspace.bytes)},
                {NamedBytes::of({"q", args.q}), NamedBytes::of({"k", args.k}), NamedBytes::of({"v", args.v}),
                 NamedBytes::of({"out", args.out}), NamedBytes::of("lse", args.lse, rows_of(problem))});
}

}  // namespace flashmoe
