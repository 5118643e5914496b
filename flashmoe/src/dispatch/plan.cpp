// SPDX-License-Identifier: MIT
#include "dispatch/plan.h"

#include <algorithm>

#include "dispatch/hopper.h"
#include "dispatch/plan_kernels.h"
#include "dispatch/plan_lengths.h"
#include "dispatch/scores.h"

namespace flashmoe::dispatch {
namespace {

constexpr int64_t kMaxRows = int64_t{1} << 30;  // so that row numbers, packed ones too, fit an int
constexpr int64_t kMaxSequences = 1 << 20;      // which prepare_lengths has a block for, each

void check_limits(const ForwardProblem& p, const device::Spec& spec) {
  if (spec.arch < 80) {
    refuse_forward("this GPU has compute capability " + std::to_string(spec.arch / 10) + "." +
                       std::to_string(spec.arch % 10) + "; kernels exist from 8.0 on",
                   "compute on the CPU: device = cpu");
  }
  if (p.head_dim > kMaxHeadDim) {
    // No remedy: the CPU backend takes no more.
    refuse_forward("head_dim is " + std::to_string(p.head_dim) + "; accepted are 1 to " +
                   std::to_string(kMaxHeadDim));
  }
  if (p.q_rows * p.group() > kMaxRows || p.kv_rows > kMaxRows) {
    refuse_forward("q has " + std::to_string(p.q_rows) + " rows for " + std::to_string(p.group()) +
                   " heads per K/V head, k has " + std::to_string(p.kv_rows) +
                   " rows; accepted are up to 2^30 rows of k, and of q times heads");
  }
  if (p.lengths.sequences > kMaxSequences) {
    refuse_forward(
        "lengths.sequences is " + std::to_string(p.lengths.sequences) + "; accepted are up to 2^20",
        "split the sequences over several calls");
  }
}

// Why hopper_forward can't take it; null when it can.
const char* hopper_cannot(const ForwardProblem& p, Addressing addressing, const device::Spec& spec) {
  if (const char* too_much = too_much_for_hopper(p, addressing, spec)) return too_much;
  if (p.dropout.p > 0) return kDropout;
  return forward_change(p) ? nullptr : "a combination that hopper_forward has no form for";
}

// Every block of small_forward reads all keys of its head for just 8 rows: it pays while all blocks run at
// once, and beyond that while an SM has few keys to read. How few depends on the kernel that would take it
// otherwise (flashmoe/docs/results/attention_crossover_h200.json).
bool small_pays(const ForwardPlan& plan, const ForwardProblem& p, const device::Spec& spec, bool hopper) {
  const int64_t elements = int64_t{plan.blocks} * p.kv_rows * p.head_dim;
  const int64_t few = hopper ? 64 << 10 : 128 << 10;
  return plan.blocks <= static_cast<unsigned>(spec.sms) || elements <= few * spec.sms;
}

ForwardPlan choose(const ForwardProblem& problem, Addressing addressing, const device::Spec& spec,
                   const ForwardChoice& choice) {
  const bool aligned = addressing.aligned;
  check_limits(problem, spec);
  if (problem.lengths.given) return choose_for_lengths(problem, addressing, spec, choice);
  const char* not_hopper = hopper_cannot(problem, addressing, spec);
  const char* not_ampere = too_much_for_ampere(problem, aligned);
  // Why no tensor-core kernel can take it on this GPU; null when one can.
  const char* scalar = problem.dtype == DType::fp32 ? "fp32 inputs, computed in fp32 throughout"
                       : not_hopper                 ? not_ampere
                                                    : nullptr;
  if (choice.num_splits && (*choice.num_splits < 1 || *choice.num_splits > kMaxSplits)) {
    refuse_forward("num_splits is " + std::to_string(*choice.num_splits) + "; accepted are 1 to " +
                   std::to_string(kMaxSplits));
  }
  const ForwardKernel kernel =
      choice.kernel.value_or(scalar ? ForwardKernel::naive : ForwardKernel::ampere_forward);
  const char* reason = choice.kernel ? "asked for" : scalar ? scalar : "16-bit inputs: tensor cores";
  if (kernel == ForwardKernel::naive) return plan_naive(problem, spec, reason);
  if (scalar)
    refuse_forward(std::string("the chosen kernel, ") + name_of(kernel) + ", does not take " + scalar);
  const char* change = needs_change(problem);
  if (change && (choice.kernel ? kernel == ForwardKernel::hopper_forward : !not_hopper)) {
    if (not_hopper)
      refuse_forward(std::string("the chosen kernel, hopper_forward, does not take ") + not_hopper);
    return plan_hopper(problem, spec, {.num_splits = 1, .tuning = choice.tuning},
                       choice.kernel         ? reason
                       : takes_bits(problem) ? "a bool attn_mask in 16-bit inputs on sm_90: wgmma and TMA"
                       : adds_bias(problem)
                           ? "an attn_mask of the inputs' 16-bit type on sm_90: wgmma and TMA"
                           : change);
  }
  const char* too_much = too_much_for_small(problem, aligned, spec);
  if (kernel == ForwardKernel::small_forward) {
    if (too_much) refuse_forward(std::string("the chosen kernel, small_forward, does not take ") + too_much);
    return plan_small(problem, spec, reason);
  }
  const char* not_decode = too_much_for_decode(problem, aligned);
  if (kernel == ForwardKernel::decode_forward) {
    if (not_decode)
      refuse_forward(std::string("the chosen kernel, decode_forward, does not take ") + not_decode);
    return plan_decode(problem, spec, choice, reason);
  }
  if (kernel == ForwardKernel::hopper_forward) {
    if (not_hopper)
      refuse_forward(std::string("the chosen kernel, hopper_forward, does not take ") + not_hopper);
    return plan_hopper(problem, spec, choice, reason);
  }
  if (!choice.kernel && !choice.num_splits) {
    if (!too_much) {
      const ForwardPlan small = plan_small(problem, spec, "few keys and few rows: latency is all there is");
      if (small_pays(small, problem, spec, not_hopper == nullptr)) return small;
    }
    if (!not_decode)
      return plan_decode(problem, spec, {}, "few rows for many keys: reading them is all there is");
  }
  if (choice.kernel && not_ampere)
    refuse_forward(std::string("the chosen kernel, ampere_forward, does not take ") + not_ampere);
  if (choice.kernel || (choice.num_splits && (not_hopper || !needs_runs(problem))))
    return plan_ampere(problem, aligned, spec, choice.num_splits, reason);
  if (!not_hopper) {
    return plan_hopper(problem, spec, {.num_splits = choice.num_splits},
                       problem.spans.given() ? "spans in 16-bit inputs on sm_90: wgmma and TMA"
                       : needs_runs(problem) ? "a window of keys in 16-bit inputs on sm_90: wgmma and TMA"
                                             : "16-bit inputs on sm_90: wgmma and TMA");
  }
  if (spec.arch == 90) reason = not_hopper;
  return plan_ampere(problem, aligned, spec, {}, reason);
}

ProgrammaticLaunch programmatic_for(const ForwardPlan& plan, const device::Spec& spec) {
  const bool can = plan.kernel == ForwardKernel::small_forward ||
                   (plan.kernel == ForwardKernel::decode_forward && plan.num_splits == 1);
  if (!can) return ProgrammaticLaunch::not_by_this_kernel;
  return spec.arch < 90 ? ProgrammaticLaunch::not_on_this_gpu : ProgrammaticLaunch::on;
}

}  // namespace

ForwardPlan plan_forward(const ForwardProblem& problem, Addressing addressing, const device::Spec& spec,
                         const ForwardChoice& choice) {
  ForwardPlan plan = choose(problem, addressing, spec, choice);
  if (choice.programmatic) plan.programmatic = programmatic_for(plan, spec);
  return plan;
}

std::size_t forward_workspace_bytes(const ForwardProblem& problem, const device::Spec& spec) {
  std::size_t bytes = 0;
  for (const Addressing addressing :
       {Addressing(true, true), Addressing(true, false), Addressing(false, false)}) {
    bytes = std::max(bytes, plan_forward(problem, addressing, spec).workspace_bytes);
  }
  return bytes;
}

}  // namespace flashmoe::dispatch
