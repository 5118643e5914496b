// SPDX-License-Identifier: MIT
#include "gpu/gradients_on_gpu.h"

#include <cuda_runtime_api.h>

#include <utility>

#include "device/probe.h"
#include "kernels/ampere_backward/launch.h"
#include "kernels/ampere_backward/spec.h"
#include "kernels/hopper_backward/spec.h"
#include "support/sequences.h"

namespace flashmoe::test {

GpuGradients::GpuGradients(BackwardProblem& host, bool deterministic, const dispatch::BackwardChoice& choice)
    : host_(host),
      spans_(host.forward.args.spans, host.forward.args.lengths, host.forward.args.k),
      lengths_(host.forward.args.lengths) {
  args_.spans = spans_.spans;
  args_.lengths = lengths_.lengths;
  const ForwardArgs& forward = host.forward.args;
  args_.q = mirror(forward.q);
  args_.k = mirror(forward.k);
  args_.v = mirror(forward.v);
  args_.out = mirror(forward.out);
  args_.dout = mirror(host.dout);
  args_.dq = mirror(host.dq);
  args_.dk = mirror(host.dk);
  args_.dv = mirror(host.dv);
  const auto rows = static_cast<std::size_t>(forward.q.sizes[0] * forward.q.sizes[1] * forward.q.sizes[2]);
  args_.lse = static_cast<const float*>(mirror(forward.lse, rows * sizeof(float)));
  if (host.dlse() != nullptr)
    args_.dlse = static_cast<const float*>(mirror(host.dlse(), rows * sizeof(float)));
  const int64_t heads = forward.q.sizes[1];
  args_.scores = forward.scores;
  if (const std::size_t bytes = slopes_bytes(forward.scores, sequences_of(forward), heads); bytes > 0)
    args_.scores.alibi_slopes = static_cast<const float*>(mirror(forward.scores.alibi_slopes, bytes));
  if (const std::size_t bytes = sinks_bytes(forward.scores, heads); bytes > 0) {
    args_.scores.sinks = static_cast<const float*>(mirror(forward.scores.sinks, bytes));
    args_.dsinks = static_cast<float*>(mirror(host.dsinks(), bytes));
  }
  if (const std::size_t bytes = pairs_bytes(forward.scores.attn_mask, host.forward.problem); bytes > 0)
    args_.scores.attn_mask.data = mirror(forward.scores.attn_mask.data, bytes);
  args_.dattn_mask = host.dattn_mask();
  if (const std::size_t bytes = host.dattn_mask_bytes(); bytes > 0)
    args_.dattn_mask.data = static_cast<float*>(mirror(args_.dattn_mask.data, bytes));
  args_.mask = forward.mask;
  args_.deterministic = deterministic;
  plan_ = dispatch::plan_backward(host.forward.problem, dispatch::addressing_of(args_), device::probe(),
                                  deterministic, choice);
  workspace_ = std::make_unique<DeviceBuffer>(plan_.workspace_bytes);
}

void GpuGradients::launch() {
  dispatch::run_backward(plan_, host_.forward.problem, args_, {workspace_->data(), plan_.workspace_bytes});
}

std::string GpuGradients::download() {
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  for (const auto& [from, to] :
       {std::pair{&args_.dq, &host_.dq}, {&args_.dk, &host_.dk}, {&args_.dv, &host_.dv}})
    check_cuda(cudaMemcpy(to->data, from->data, extent_bytes(*to), cudaMemcpyDefault), "cudaMemcpy");
  if (args_.dsinks != nullptr) {
    check_cuda(cudaMemcpy(host_.dsinks(), args_.dsinks,
                          sinks_bytes(args_.scores, host_.forward.args.q.sizes[1]), cudaMemcpyDefault),
               "cudaMemcpy");
  }
  if (const std::size_t bytes = host_.dattn_mask_bytes(); bytes > 0)
    check_cuda(cudaMemcpy(host_.dattn_mask().data, args_.dattn_mask.data, bytes, cudaMemcpyDefault),
               "cudaMemcpy");
  if (!workspace_->guards_are_intact()) return "memory around the workspace was written";
  for (const auto& buffer : buffers_) {
    if (!buffer->guards_are_intact()) return "memory around a tensor was written";
  }
  return "";
}

void* GpuGradients::mirror(const void* data, std::size_t bytes) {
  buffers_.push_back(std::make_unique<DeviceBuffer>(bytes));
  check_cuda(cudaMemcpy(buffers_.back()->data(), data, bytes, cudaMemcpyDefault), "cudaMemcpy");
  return buffers_.back()->data();
}

Tensor GpuGradients::mirror(const Tensor& t) {
  Tensor copy = t;
  copy.data = mirror(t.data, extent_bytes(t));
  return copy;
}

std::vector<BackwardForm> backward_forms_here() {
  using dispatch::BackwardKernel;
  std::vector<BackwardForm> forms{{{.kernel = BackwardKernel::naive_backward}, 0}};
  const device::Spec spec = device::probe();
  for (int i = 0; i < kernels::ampere_backward::kNumTunings; ++i) {
    if (kernels::ampere_backward::smem_bytes(i) > spec.smem_per_block) continue;
    forms.push_back({{.kernel = BackwardKernel::ampere_backward, .tuning = i},
                     kernels::ampere_backward::kTunings[i].head_dim});
  }
  if (spec.arch != 90) return forms;
  for (const kernels::hopper_backward::Tuning& tuning : kernels::hopper_backward::kTunings)
    forms.push_back({{.kernel = BackwardKernel::hopper_backward}, tuning.head_dim});
  return forms;
}

std::string describe(const dispatch::BackwardChoice& choice) {
  return std::string(choice.kernel ? name_of(*choice.kernel) : "dispatch") +
         (choice.tuning ? ":" + std::to_string(*choice.tuning) : "");
}

std::string trouble_with_gradients(const Shape& shape, const How& how) {
  std::string wrong;
  try {
    BackwardProblem problem(shape, how.with_dlse);
    GpuGradients gpu(problem, how.deterministic, how.choice);
    gpu.launch();
    gpu.launch();  // a second call finds the workspace as the first left it
    wrong = gpu.download();
    if (wrong.empty()) wrong = problem.disagreement();
  } catch (const std::exception& error) {
    wrong = error.what();
  }
  return wrong.empty() ? ""
                       : describe(shape) + " by " + describe(how.choice) +
                             (how.deterministic ? ", deterministic: " : ": ") + wrong;
}

}  // namespace flashmoe::test
