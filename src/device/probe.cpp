// SPDX-License-Identifier: MIT
#include "device/probe.h"

#include <cuda_runtime_api.h>

#include "flashmoe/error.h"

namespace flashmoe::device {
namespace {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw Error(ErrorCode::backend,
              std::string("device: ") + call + " failed: " + cudaGetErrorName(status) + ", " +
                  cudaGetErrorString(status),
              "check that a GPU and a driver are here: nvidia-smi");
}

}  // namespace

Spec probe() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  const auto attribute = [device](cudaDeviceAttr which) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
    return value;
  };
  Spec spec;
  spec.name = "this GPU";
  spec.arch =
      10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
  spec.sms = attribute(cudaDevAttrMultiProcessorCount);
  spec.smem_per_block = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  spec.smem_per_sm = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  spec.threads_per_sm = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  spec.blocks_per_sm = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
  spec.l2_bytes = attribute(cudaDevAttrL2CacheSize);
  return spec;
}

}  // namespace flashmoe::device
