// SPDX-License-Identifier: MIT
// hopper_forward by configuration, which the public API does not offer: a library for
// benches/attention_hopper.py.
#include <cstdint>
#include <cstdio>
#include <exception>

#include "device/probe.h"
#include "dispatch/run.h"
#include "kernels/hopper_forward/spec.h"

namespace {

using namespace flashmoe;
namespace hopper = kernels::hopper_forward;

Tensor tensor(void* data, DType dtype, int64_t batch, int64_t heads, int64_t rows, int64_t head_dim) {
  return {.data = data,
          .dtype = dtype,
          .sizes = {batch, heads, rows, head_dim},
          .strides = {heads * rows * head_dim, rows * head_dim, head_dim, 1}};
}

}  // namespace

extern "C" {

struct HopperProblem {
  void *q, *k, *v, *out;
  float* lse;
  int64_t batch, q_heads, kv_heads, q_rows, kv_rows, head_dim;
  float scale;
  int bf16, causal;
};

__attribute__((visibility("default"))) int hopper_forms() { return hopper::kNumTunings; }

__attribute__((visibility("default"))) int hopper_head_dim(int tuning) {
  return hopper::kTunings[tuning].head_dim;
}

__attribute__((visibility("default"))) void hopper_name(int form, char* name, int bytes) {
  const hopper::Tuning& t = hopper::kTunings[form % 100];
  constexpr const char* kOrder[] = {"", " by head", " all heads"};
  std::snprintf(name, static_cast<std::size_t>(bytes), "%d %dx%d%s s%d %s%s", form, t.tile_q(), t.tile_kv,
                t.q_in_registers ? " qr" : "", t.stages, t.own_out ? "own" : "regs", kOrder[form / 100]);
}

// Dense [B, H, S, D]. `form` is a tuning, -1 for what dispatch chooses, or -2 for ampere_forward; plus 100 for the tiles of one head
// after the other, 200 for those of all heads at once. 0, or an error's text in `message`.
__attribute__((visibility("default"))) int hopper_run(const HopperProblem* p, int form, void* stream,
                                                      char* message, int bytes) {
  try {
    const DType dtype = p->bf16 != 0 ? DType::bf16 : DType::fp16;
    const ForwardProblem problem{.batch = p->batch,
                                 .q_heads = p->q_heads,
                                 .kv_heads = p->kv_heads,
                                 .q_rows = p->q_rows,
                                 .kv_rows = p->kv_rows,
                                 .head_dim = p->head_dim,
                                 .dtype = dtype,
                                 .mask = p->causal != 0 ? Mask::causal : Mask::none,
                                 .scale = p->scale};
    ForwardArgs args;
    args.q = tensor(p->q, dtype, p->batch, p->q_heads, p->q_rows, p->head_dim);
    args.out = tensor(p->out, dtype, p->batch, p->q_heads, p->q_rows, p->head_dim);
    args.k = tensor(p->k, dtype, p->batch, p->kv_heads, p->kv_rows, p->head_dim);
    args.v = tensor(p->v, dtype, p->batch, p->kv_heads, p->kv_rows, p->head_dim);
    args.lse = p->lse;
    args.execution.stream = stream;
    dispatch::ForwardChoice choice{.kernel = dispatch::ForwardKernel::hopper_forward};
    if (form >= 0) choice.tuning = form % 100;
    if (form == -2) choice.kernel = dispatch::ForwardKernel::ampere_forward;
    dispatch::ForwardPlan plan = dispatch::plan_forward(problem, true, device::probe(), choice);
    if (form >= 100)
      plan.heads_at_once = form < 200 ? 1 : static_cast<int>(p->batch * p->q_heads) / plan.pack;
    dispatch::run_forward(plan, problem, args, {});
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(message, static_cast<std::size_t>(bytes), "%s", error.what());
    return 1;
  }
}
}
