// SPDX-License-Identifier: MIT
// The kernel under test: flashmoe's gradients of attention behind the one C function that dent calls.
#include <dent/kernel.h>
#include <flashmoe/attention.h>

#include <cstdio>
#include <vector>

namespace {

flashmoe::Tensor view(const dent_tensor& tensor) {
  return flashmoe::Tensor::dense(tensor.data, flashmoe::DType::fp32,
                                 {tensor.sizes[0], tensor.sizes[1], tensor.sizes[2], tensor.sizes[3]});
}

void* allocate(void* context, std::size_t bytes) {
  auto& space = *static_cast<std::vector<std::byte>*>(context);
  if (space.size() < bytes + flashmoe::kWorkspaceAlignment)
    space.resize(bytes + flashmoe::kWorkspaceAlignment);
  return flashmoe::Workspace::in(space.data(), space.size()).data;
}

}  // namespace

extern "C" int flashmoe_attention_backward(const dent_call* call) {
  static std::vector<std::byte> space;  // calls come one at a time
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
  try {
    flashmoe::attention_backward_with(args, {allocate, &space});
  } catch (const flashmoe::Error& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
    return 1;
  }
  return 0;
}
