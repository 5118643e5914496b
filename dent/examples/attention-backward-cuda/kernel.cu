// SPDX-License-Identifier: MIT
// flashmoe's gradients of attention behind the one C function that dent calls. Launches on the stream it is
// given and does not wait.
#include <cuda_runtime.h>
#include <dent/kernel.h>
#include <flashmoe/attention.h>

#include <cstdio>

namespace {

flashmoe::Tensor view(const dent_tensor& tensor) {
  const auto dtype = tensor.dtype == DENT_BF16 ? flashmoe::DType::bf16 : flashmoe::DType::fp16;
  return flashmoe::Tensor::dense(tensor.data, dtype,
                                 {tensor.sizes[0], tensor.sizes[1], tensor.sizes[2], tensor.sizes[3]});
}

// Grows with the largest problem so far; calls come one at a time, on one stream.
void* allocate(void*, std::size_t bytes) {
  static void* space = nullptr;
  static std::size_t size = 0;
  if (bytes > size) {
    cudaDeviceSynchronize();
    cudaFree(space);
    size = cudaMalloc(&space, bytes) == cudaSuccess ? bytes : 0;
    if (size == 0) space = nullptr;
  }
  return space;
}

}  // namespace

extern "C" int flashmoe_attention_backward(const dent_call* call) {
  flashmoe::BackwardArgs args;
  args.q = view(call->inputs[0]);
  args.k = view(call->inputs[1]);
  args.v = view(call->inputs[2]);
  args.out = view(call->inputs[3]);
  args.lse = static_cast<const float*>(call->inputs[4].data);
  args.dout = view(call->inputs[5]);
  args.dq = view(call->outputs[0]);
  args.dk = view(call->outputs[1]);
  args.dv = view(call->outputs[2]);
  args.execution.device = flashmoe::Device::cuda;
  args.execution.stream = call->stream;
  try {
    flashmoe::attention_backward_with(args, {allocate, nullptr});
  } catch (const flashmoe::Error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
  return 0;
}
