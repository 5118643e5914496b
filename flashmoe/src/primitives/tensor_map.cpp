// SPDX-License-Identifier: MIT
// Creates tensor maps through the CUDA driver. The runtime finds its entry point, so nothing links libcuda.
#include "primitives/tensor_map.h"

#include <cudaTypedefs.h>

#include <cstring>
#include <string>

#include "flashmoe/error.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {
namespace {

using Encode = PFN_cuTensorMapEncodeTiled_v12000;

[[noreturn]] void fail(const std::string& what) { throw Error(ErrorCode::backend, "tensor map: " + what); }

Encode find_encode() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  const cudaError_t status =
      cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  if (status != cudaSuccess || found != cudaDriverEntryPointSuccess || function == nullptr) {
    fail(std::string("the driver has no cuTensorMapEncodeTiled: ") + cudaGetErrorName(status));
  }
  return reinterpret_cast<Encode>(function);
}

CUtensorMapSwizzle driver_name(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
    case Swizzle::bytes_32:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case Swizzle::bytes_64:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case Swizzle::bytes_128:
      return CU_TENSOR_MAP_SWIZZLE_128B;
  }
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

}  // namespace

TensorMap make_tensor_map(const TensorMapShape& shape) {
  static const Encode encode = find_encode();  // the driver does not change in a running process
  std::array<cuuint64_t, kMaxMapRank> sizes{};
  std::array<cuuint64_t, kMaxMapRank> strides{};
  std::array<cuuint32_t, kMaxMapRank> box_dim{};
  std::array<cuuint32_t, kMaxMapRank> steps{};
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.rank); ++i) {
    sizes[i] = static_cast<cuuint64_t>(shape.sizes[i]);
    box_dim[i] = static_cast<cuuint32_t>(shape.box_dim[i]);
    steps[i] = 1;
    if (i > 0) strides[i - 1] = static_cast<cuuint64_t>(shape.stride_bytes[i]);
  }
  CUtensorMap map;
  const CUresult status = encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT16, static_cast<cuuint32_t>(shape.rank),
                                 const_cast<void*>(shape.data), sizes.data(), strides.data(), box_dim.data(),
                                 steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, driver_name(shape.swizzle),
                                 CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) fail("cuTensorMapEncodeTiled failed with error " + std::to_string(status));
  TensorMap result;
  static_assert(sizeof(result) == sizeof(map));
  std::memcpy(&result, &map, sizeof(result));
  return result;
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
