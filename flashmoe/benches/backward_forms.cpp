// SPDX-License-Identifier: MIT
// Gradients by the kernels of dispatch, which the public API does not offer: a library for
// flashmoe/benches/attention_backward.py.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "device/probe.h"
#include "dispatch/run_backward.h"

// Dense [B, H, S, D].
struct BackwardCall {
  void *q, *k, *v, *out, *dout, *dq, *dk, *dv;
  float *lse, *dlse;
  int64_t batch, q_heads, kv_heads, q_rows, kv_rows, head_dim;
  float scale;
  int bf16, mask, deterministic;
  int kernel, tuning;  // a dispatch::BackwardKernel and a row of its table, or -1: dispatch chooses
  void* workspace;
  int64_t workspace_bytes;
};

namespace {

using namespace flashmoe;

struct Call {
  ForwardProblem problem;
  BackwardArgs args;
  dispatch::BackwardChoice choice;

  Call(const BackwardCall& c, void* stream) {
    const DType dtype = c.bf16 != 0 ? DType::bf16 : DType::fp16;
    problem = {.batch = c.batch,
               .q_heads = c.q_heads,
               .kv_heads = c.kv_heads,
               .q_rows = c.q_rows,
               .kv_rows = c.kv_rows,
               .head_dim = c.head_dim,
               .dtype = dtype,
               .mask = static_cast<Mask>(c.mask),
               .scale = c.scale};
    const auto rows = [&](void* data) {
      return Tensor::dense(data, dtype, {c.batch, c.q_heads, c.q_rows, c.head_dim});
    };
    const auto keys = [&](void* data) {
      return Tensor::dense(data, dtype, {c.batch, c.kv_heads, c.kv_rows, c.head_dim});
    };
    args = {.q = rows(c.q),
            .k = keys(c.k),
            .v = keys(c.v),
            .out = rows(c.out),
            .lse = c.lse,
            .dout = rows(c.dout),
            .dlse = c.dlse,
            .dq = rows(c.dq),
            .dk = keys(c.dk),
            .dv = keys(c.dv),
            .mask = problem.mask,
            .scale = c.scale,
            .deterministic = c.deterministic != 0};
    if (c.kernel >= 0) choice.kernel = static_cast<dispatch::BackwardKernel>(c.kernel);
    if (c.tuning >= 0) choice.tuning = c.tuning;
    args.execution = {.device = Device::cuda, .stream = stream};
  }

  dispatch::BackwardPlan plan() const {
    return dispatch::plan_backward(problem, dispatch::addressing_of(args), device::probe(),
                                   args.deterministic, choice);
  }
};

// 0, or what `body` gives; -1 with the error's text in `message`.
template <class Body>
int64_t guarded(char* message, int bytes, Body body) {
  try {
    return body();
  } catch (const std::exception& error) {
    std::snprintf(message, static_cast<std::size_t>(bytes), "%s", error.what());
    return -1;
  }
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int64_t backward_workspace_bytes(const BackwardCall* c, char* message,
                                                                        int bytes) {
  return guarded(message, bytes,
                 [&] { return static_cast<int64_t>(Call(*c, nullptr).plan().workspace_bytes); });
}

__attribute__((visibility("default"))) int64_t backward_run(const BackwardCall* c, void* stream,
                                                            char* message, int bytes) {
  return guarded(message, bytes, [&]() -> int64_t {
    const Call call(*c, stream);
    const dispatch::BackwardPlan plan = call.plan();
    if (plan.workspace_bytes > static_cast<std::size_t>(c->workspace_bytes))
      throw std::runtime_error("the workspace is too small");
    dispatch::run_backward(plan, call.problem, call.args, {c->workspace, plan.workspace_bytes});
    return 0;
  });
}
}
