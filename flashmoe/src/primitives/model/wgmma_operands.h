// SPDX-License-Identifier: MIT
// Operands of a wgmma: finds them in shared memory by their descriptors, and multiplies them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "primitives/model/machine.h"
#include "primitives/model/small_product.h"

namespace flashmoe::model {

inline constexpr int kProductRows = 64;
inline constexpr std::size_t kWarpgroupThreads = 128;

struct ProductOperands {
  bool is_bf16;
  int width;  // columns of the product
  bool a_in_registers;
  uint64_t a;  // descriptor; unused if A is in registers
  bool a_across_k;
  uint64_t b;  // descriptor
  bool b_across_k;
  bool accumulate;

  bool operator==(const ProductOperands&) const = default;
};

// The register operand A, by thread of the warpgroup.
using RegisterOperand = std::array<std::array<uint32_t, 4>, kWarpgroupThreads>;

// Reports descriptor fields that hardware refuses, and operands outside shared memory.
void check_operands(const ProductOperands& operands, const Where& where);

// Calls each(place) for all 16-byte chunks of shared memory that one warp of the warpgroup reads: its rows of
// A, and all of B.
void each_chunk(const Block& block, const ProductOperands& operands, int warp_of_group,
                const std::function<void(const std::byte*)>& each);

// sums[64][width] = a b + (accumulate ? sums : 0).
void multiply(const Block& block, const ProductOperands& operands, const RegisterOperand& a,
              std::vector<float>& sums);

}  // namespace flashmoe::model
