// SPDX-License-Identifier: MIT
#include "cpu/forward.h"

#include "cpu/kernels.h"

namespace flashmoe::cpu {

std::size_t forward_workspace_bytes(const ForwardProblem& problem, const Execution&) {
  return choose_kernel(problem).scratch_bytes(problem, problem.group() * problem.q_rows);
}

void forward(const ForwardProblem& p, const ForwardArgs& args, Workspace workspace) {
  const auto at = [](const Tensor& t, int64_t b, int64_t h) -> void* {
    return static_cast<std::byte*>(t.data) + (b * t.strides[0] + h * t.strides[1]) * element_bytes(t.dtype);
  };
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.kv_heads; ++h) {
      const int64_t q_head = h * p.group();
      choose_kernel(p).attend({.problem = &p,
                               .q = at(args.q, b, q_head),
                               .q_head_stride = args.q.strides[1],
                               .q_row_stride = args.q.strides[2],
                               .k = at(args.k, b, h),
                               .k_row_stride = args.k.strides[2],
                               .v = at(args.v, b, h),
                               .v_row_stride = args.v.strides[2],
                               .out = at(args.out, b, q_head),
                               .out_head_stride = args.out.strides[1],
                               .out_row_stride = args.out.strides[2],
                               .lse = args.lse ? args.lse + (b * p.q_heads + q_head) * p.q_rows : nullptr,
                               .row_begin = 0,
                               .row_end = p.group() * p.q_rows,
                               .kv_begin = 0,
                               .kv_end = p.kv_rows,
                               .partial_out = nullptr,
                               .partial_max = nullptr,
                               .partial_sum = nullptr,
                               .scratch = static_cast<std::byte*>(workspace.data)});
    }
  }
}

std::string explain_forward(const ForwardProblem&, const Execution&) { return "cpu: portable kernel\n"; }

std::string instruction_set() {
#ifdef FLASHMOE_HIGHWAY
  return simd_name();
#else
  return "portable";
#endif
}

}  // namespace flashmoe::cpu
