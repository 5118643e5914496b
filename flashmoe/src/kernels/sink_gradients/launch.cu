// SPDX-License-Identifier: MIT
#include "kernels/sink_gradients/launch.h"

#include "kernels/sink_gradients/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::sink_gradients::inline FLASHMOE_TARGET {
namespace {

template <class T>
void start(const SinkParams& params, void* stream) {
  gpu::launch(&sink_gradients<T>,
              {.kernel = "sink_gradients",
               .blocks = static_cast<unsigned>(params.q_heads),
               .threads = kThreads,
               .smem_bytes = sizeof(Smem),
               .stream = stream},
              params);
}

}  // namespace

void launch(DType dtype, const SinkParams& params, void* stream) {
  if (params.delta != nullptr) {
    return gpu::launch(&sink_gradients_of_statistics,
                       {.kernel = "sink_gradients",
                        .blocks = static_cast<unsigned>(params.q_heads),
                        .threads = kThreads,
                        .smem_bytes = sizeof(Smem),
                        .stream = stream},
                       params);
  }
  switch (dtype) {
    case DType::fp32:
      return start<float>(params, stream);
    case DType::fp16:
      return start<fp16>(params, stream);
    case DType::bf16:
      return start<bf16>(params, stream);
  }
}

}  // namespace flashmoe::kernels::sink_gradients::inline FLASHMOE_TARGET
