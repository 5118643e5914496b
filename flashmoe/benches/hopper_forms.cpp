// SPDX-License-Identifier: MIT
// Kernels by name and configuration, which the public API does not offer: a library for
// flashmoe/benches/attention_hopper.py and attention_crossover.py.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "device/probe.h"
#include "dispatch/run.h"
#include "kernels/hopper_forward/maps.h"
#include "kernels/hopper_forward/params.h"
#include "kernels/hopper_forward/spec.h"

struct HopperProblem {
  void *q, *k, *v, *out;
  float* lse;
  int64_t batch, q_heads, kv_heads, q_rows, kv_rows, head_dim;
  float scale;
  int bf16, causal;
  void* workspace;
  int64_t workspace_bytes;
};

namespace {

using namespace flashmoe;
namespace hopper = kernels::hopper_forward;

Tensor tensor(void* data, DType dtype, int64_t batch, int64_t heads, int64_t rows, int64_t head_dim) {
  return {.data = data,
          .dtype = dtype,
          .sizes = {batch, heads, rows, head_dim},
          .strides = {heads * rows * head_dim, rows * head_dim, head_dim, 1}};
}

struct Call {
  ForwardProblem problem;
  ForwardArgs args;

  Call(const HopperProblem& p, void* stream) {
    const DType dtype = p.bf16 != 0 ? DType::bf16 : DType::fp16;
    problem = {.batch = p.batch,
               .q_heads = p.q_heads,
               .kv_heads = p.kv_heads,
               .q_rows = p.q_rows,
               .kv_rows = p.kv_rows,
               .head_dim = p.head_dim,
               .dtype = dtype,
               .mask = p.causal != 0 ? Mask::causal : Mask::none,
               .scale = p.scale};
    args.q = tensor(p.q, dtype, p.batch, p.q_heads, p.q_rows, p.head_dim);
    args.out = tensor(p.out, dtype, p.batch, p.q_heads, p.q_rows, p.head_dim);
    args.k = tensor(p.k, dtype, p.batch, p.kv_heads, p.kv_rows, p.head_dim);
    args.v = tensor(p.v, dtype, p.batch, p.kv_heads, p.kv_rows, p.head_dim);
    args.lse = p.lse;
    args.execution.stream = stream;
  }

  dispatch::ForwardPlan plan(int form) const {
    using dispatch::ForwardKernel;
    dispatch::ForwardChoice choice{.kernel = ForwardKernel::hopper_forward};
    if (form >= 0) choice.tuning = form % 100;
    if (form == -2) choice.kernel = ForwardKernel::ampere_forward;
    if (form == -3) choice.kernel = ForwardKernel::small_forward;
    if (form == -4) choice.kernel.reset();
    return dispatch::plan_forward(problem, true, device::probe(), choice);
  }
};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int hopper_forms() { return hopper::kNumTunings; }

__attribute__((visibility("default"))) int hopper_head_dim(int form) {
  return hopper::kTunings[form % 100].head_dim;
}

__attribute__((visibility("default"))) void hopper_name(int form, char* name, int bytes) {
  const hopper::Tuning& t = hopper::kTunings[form % 100];
  const std::string order = form < 100 ? "" : ", heads at once: " + std::to_string(form / 100);
  std::snprintf(name, static_cast<std::size_t>(bytes), "%d %dx%d%s s%d %s%s", form % 100, t.tile_q(),
                t.tile_kv, t.q_in_registers ? " qr" : "", t.stages, t.own_out ? "own" : "regs",
                order.c_str());
}

// Dense [B, H, S, D]. `form` is a tuning of hopper_forward, -1 for the one that dispatch chooses, -2 for
// ampere_forward, -3 for small_forward, -4 for whatever dispatch chooses; plus 100 n for tiles in groups
// of n heads (all at most). 0, or an error's text in `message`.
__attribute__((visibility("default"))) int hopper_run(const HopperProblem* p, int form, void* stream,
                                                      char* message, int bytes) {
  try {
    const Call call(*p, stream);
    dispatch::ForwardPlan plan = call.plan(form);
    if (form >= 100)
      plan.heads_at_once = std::min(form / 100, static_cast<int>(p->batch * p->q_heads) / plan.pack);
    if (plan.workspace_bytes > static_cast<std::size_t>(p->workspace_bytes))
      throw std::runtime_error("the plan asks for " + std::to_string(plan.workspace_bytes) +
                               " bytes of workspace, and was given " + std::to_string(p->workspace_bytes));
    dispatch::run_forward(plan, call.problem, call.args, {p->workspace, plan.workspace_bytes});
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(message, static_cast<std::size_t>(bytes), "%s", error.what());
    return 1;
  }
}

// What runs for `form`, in words; or the error's text.
__attribute__((visibility("default"))) void hopper_plan(const HopperProblem* p, int form, char* text,
                                                        int bytes) {
  try {
    const dispatch::ForwardPlan plan = Call(*p, nullptr).plan(form);
    std::snprintf(text, static_cast<std::size_t>(bytes), "%s%s", dispatch::name_of(plan.kernel),
                  plan.num_splits > 1 ? " split" : "");
  } catch (const std::exception& error) {
    std::snprintf(text, static_cast<std::size_t>(bytes), "%s", error.what());
  }
}

// Host time of a call's four tensor maps when its tensors are the same again and again.
__attribute__((visibility("default"))) double hopper_maps_ns(const HopperProblem* p) {
  const Call call(*p, nullptr);
  const dispatch::ForwardPlan plan = call.plan(-1);
  hopper::Params params;
  params.problem = dispatch::params_for(plan, call.problem, call.args, {});
  constexpr int kTimes = 10'000;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) {
    hopper::set_maps(params, hopper::kTunings[plan.tuning], params.problem.order.batch,
                     params.problem.order.batch);
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / kTimes;
}
}
