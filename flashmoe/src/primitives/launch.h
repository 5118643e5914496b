// SPDX-License-Identifier: MIT
// Launches a kernel: launch(kernel, shape, arguments...). Throws an error that names the kernel on failure.
// Safe under graph capture: nothing here allocates, synchronises or depends on an earlier call.
#pragma once

#include <string>
#include <type_traits>

#include "flashmoe/error.h"
#include "primitives/launch_shape.h"
#include "primitives/platform.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/launch.h"
#else
namespace flashmoe::gpu::inline FLASHMOE_TARGET {

inline void check_cuda(cudaError_t status, const char* kernel, const char* call) {
  if (status == cudaSuccess) return;
  throw Error(ErrorCode::backend, std::string(kernel) + ": " + call + " failed: " + cudaGetErrorName(status) +
                                      ", " + cudaGetErrorString(status));
}

// A kernel that uses more dynamic shared memory than this must request it with cudaFuncSetAttribute.
inline constexpr int kDefaultSmemBytes = 48 * 1024;

template <class... Parameters>
void launch(void (*kernel)(Parameters...), const LaunchShape& shape,
            std::type_identity_t<Parameters>... arguments) {
  if (shape.smem_bytes > kDefaultSmemBytes) {
    check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.smem_bytes),
               shape.kernel, "cudaFuncSetAttribute(MaxDynamicSharedMemorySize)");
  }
  cudaLaunchAttribute attributes[2];
  unsigned count = 0;
  if (shape.cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count].val.clusterDim.x = static_cast<unsigned>(shape.cluster);
    attributes[count].val.clusterDim.y = 1;
    attributes[count++].val.clusterDim.z = 1;
  }
  if (shape.programmatic) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.blocks, shape.blocks_y, shape.blocks_z);
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = static_cast<size_t>(shape.smem_bytes);
  config.stream = static_cast<cudaStream_t>(shape.stream);
  config.attrs = attributes;
  config.numAttrs = count;
  check_cuda(cudaLaunchKernelEx(&config, kernel, arguments...), shape.kernel, "cudaLaunchKernelEx");
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
#endif
