// SPDX-License-Identifier: MIT
#include "device/probe.h"

#include <cuda_runtime_api.h>

#include <array>
#include <mutex>

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

Spec ask(int device) {
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
#ifdef FLASHMOE_BUILT_FOR_SM90A
  if (spec.arch == 90)
    spec.max_cluster = 8;  // on other GPUs, and in other builds, kernels with clusters have no code
#endif
  return spec;
}

}  // namespace

Spec probe() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  // A device does not change while the process runs, and a call that takes a few microseconds should not ask
  // again.
  static std::array<Spec, 64> asked;
  static std::array<std::once_flag, 64> once;
  const auto index = static_cast<std::size_t>(device);
  if (index >= asked.size()) return ask(device);
  std::call_once(once[index], [&] { asked[index] = ask(device); });
  return asked[index];
}

}  // namespace flashmoe::device
