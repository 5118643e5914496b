// SPDX-License-Identifier: MIT
#include "primitives/model/tensor_map.h"

#include <string>

#include "flashmoe/error.h"
#include "primitives/model/swizzle.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {
namespace {

void need(bool condition, const std::string& what) {
  if (!condition) throw Error(ErrorCode::backend, "tensor map: " + what);
}

}  // namespace

TensorMap make_tensor_map(const TensorMapShape& shape) {
  need(shape.rank >= 1 && shape.rank <= kMaxMapRank,
       "a rank of " + std::to_string(shape.rank) + "; 1 to 5 are possible");
  need(shape.data != nullptr && reinterpret_cast<std::uintptr_t>(shape.data) % 16 == 0,
       "the tensor does not begin at a multiple of 16 bytes");
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape.rank); ++i) {
    const std::string dimension = "dimension " + std::to_string(i) + " has ";
    need(shape.sizes[i] >= 1 && shape.sizes[i] <= int64_t{1} << 32,
         dimension + "the size " + std::to_string(shape.sizes[i]));
    need(shape.box_dim[i] >= 1 && shape.box_dim[i] <= 256,
         dimension + "a tile of " + std::to_string(shape.box_dim[i]) + "; 1 to 256 are possible");
    if (i == 0) continue;
    need(shape.stride_bytes[i] % 16 == 0 && shape.stride_bytes[i] >= 0 &&
             shape.stride_bytes[i] < int64_t{1} << 40,
         dimension + "a stride of " + std::to_string(shape.stride_bytes[i]) +
             " bytes; multiples of 16 below 2^40 are possible");
  }
  const int inner_bytes = 2 * shape.box_dim[0];
  need(inner_bytes % 16 == 0,
       "a tile of " + std::to_string(inner_bytes) + " inner bytes; multiples of 16 are possible");
  need(shape.swizzle == Swizzle::none || inner_bytes <= static_cast<int>(model::swizzle_bytes(shape.swizzle)),
       "a tile of " + std::to_string(inner_bytes) + " inner bytes is wider than its swizzle");
  return {shape};
}

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
