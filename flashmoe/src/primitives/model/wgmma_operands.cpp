// SPDX-License-Identifier: MIT
#include "primitives/model/wgmma_operands.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "primitives/model/swizzle.h"
#include "primitives/model/widen.h"

namespace flashmoe::model {
namespace {

constexpr int kChunk = 8;  // elements of 2 bytes

// Fields of a matrix descriptor.
struct Layout {
  uint32_t start, leading, stride;
  gpu::Swizzle swizzle;

  explicit Layout(uint64_t descriptor)
      : start(static_cast<uint32_t>(descriptor & 0x3FFF) << 4),
        leading(static_cast<uint32_t>(descriptor >> 16 & 0x3FFF) << 4),
        stride(static_cast<uint32_t>(descriptor >> 32 & 0x3FFF) << 4),
        swizzle(static_cast<gpu::Swizzle>(descriptor >> 62)) {}

  // Operand along K: the address of 8 elements of row (or column) `row`, beginning at K = k.
  uint32_t along(int row, int k) const {
    const auto r = static_cast<uint32_t>(row);
    const auto c = static_cast<uint32_t>(k) / kChunk;
    const uint32_t place = swizzle == gpu::Swizzle::none
                               ? start + r / 8 * stride + c * leading + r % 8 * 16
                               : start + r / 8 * stride + r % 8 * swizzle_bytes(swizzle) + c * 16;
    return swizzled(place, swizzle);
  }

  // Operand across K: the address of 8 elements with this k, beginning at column `n`.
  uint32_t across(int n, int k) const {
    const auto row = static_cast<uint32_t>(k);
    const uint32_t width = swizzle_bytes(swizzle);
    const uint32_t bytes = 2 * static_cast<uint32_t>(n);
    // Without a swizzle, the descriptor's leading and stride distances swap their meaning.
    const uint32_t slabs = swizzle == gpu::Swizzle::none ? stride : leading;
    const uint32_t rows = swizzle == gpu::Swizzle::none ? leading : stride;
    return swizzled(start + bytes / width * slabs + row / 8 * rows + row % 8 * width + bytes % width,
                    swizzle);
  }
};

const std::byte* place(const Block& block, uint32_t address) {
  return block.smem + (address - kSharedWindow);
}

void check_descriptor(const char* which, uint64_t descriptor, const Where& where) {
  constexpr uint64_t kFields =
      0x3FFF | uint64_t{0x3FFF} << 16 | uint64_t{0x3FFF} << 32 | uint64_t{7} << 49 | uint64_t{3} << 62;
  const std::string whose = std::string("wgmma: the descriptor of ") + which;
  if ((descriptor & ~kFields) != 0) report(whose + " has bits set that have no meaning", where);
  if ((descriptor >> 49 & 7) != 0)
    report(whose + " has a base offset, which is not modelled: begin slabs at 8 rows", where);
}

// Calls each(address, n, k) for every 16-byte chunk of B.
template <class Each>
void each_chunk_of_b(const ProductOperands& operands, Each each) {
  const Layout b(operands.b);
  if (operands.b_across_k) {
    for (int k = 0; k < kProductDepth; ++k) {
      for (int n = 0; n < operands.width; n += kChunk) each(b.across(n, k), n, k);
    }
  } else {
    for (int n = 0; n < operands.width; ++n) {
      for (int k = 0; k < kProductDepth; k += kChunk) each(b.along(n, k), n, k);
    }
  }
}

// Calls each(address, row, k) for every 16-byte chunk of rows `first` to `end` of A in shared memory.
template <class Each>
void each_chunk_of_a(const ProductOperands& operands, int first, int end, Each each) {
  const Layout a(operands.a);
  if (operands.a_across_k) {
    for (int k = 0; k < kProductDepth; ++k) {
      for (int row = first; row < end; row += kChunk) each(a.across(row, k), row, k);
    }
  } else {
    for (int row = first; row < end; ++row) {
      for (int k = 0; k < kProductDepth; k += kChunk) each(a.along(row, k), row, k);
    }
  }
}

template <class T>
void widen_chunk(const Widen<T>& widen, const std::byte* from, float* to, int step) {
  uint16_t bits[kChunk];
  std::memcpy(bits, from, sizeof bits);
  if (step == 1) return widen.all(bits, to, kChunk);
  for (int i = 0; i < kChunk; ++i) to[i * step] = widen(bits[i]);
}

template <class T>
void multiply_as(const Block& block, const ProductOperands& operands, const RegisterOperand& registers,
                 std::vector<float>& sums) {
  const Widen<T> widen;
  const auto width = static_cast<std::size_t>(operands.width);
  float a[kProductRows][kProductDepth];
  if (operands.a_in_registers) {
    for (std::size_t t = 0; t < kWarpgroupThreads; ++t) {
      const std::size_t row = t / 32 * 16 + t % 32 / 4;
      const std::size_t k = 2 * (t % 4);
      widen.pair(registers[t][0], &a[row][k]);
      widen.pair(registers[t][1], &a[row + 8][k]);
      widen.pair(registers[t][2], &a[row][k + 8]);
      widen.pair(registers[t][3], &a[row + 8][k + 8]);
    }
  } else {
    each_chunk_of_a(operands, 0, kProductRows, [&](uint32_t address, int row, int k) {
      widen_chunk(widen, place(block, address), &a[row][k], operands.a_across_k ? kProductDepth : 1);
    });
  }
  static std::vector<float> b;  // [k][n]: the inner loop runs along n
  b.resize(kProductDepth * width);
  each_chunk_of_b(operands, [&](uint32_t address, int n, int k) {
    float* to = &b[static_cast<std::size_t>(k) * width + static_cast<std::size_t>(n)];
    widen_chunk(widen, place(block, address), to, operands.b_across_k ? 1 : operands.width);
  });
  if (!operands.accumulate) std::fill(sums.begin(), sums.end(), 0.0F);
  add_product(sums.data(), a, b.data(), kProductRows, width);
}

}  // namespace

void check_operands(const ProductOperands& operands, const Where& where) {
  const auto inside = [&](const char* which, uint32_t address) {
    if (address < kSharedWindow || address - kSharedWindow + 16 > current->block->smem_bytes) {
      report(std::string("wgmma: its operand ") + which + " reaches shared offset " +
                 std::to_string(int64_t{address} - kSharedWindow) + ", outside of the block's " +
                 std::to_string(current->block->smem_bytes) + " bytes",
             where);
    }
  };
  check_descriptor("b", operands.b, where);
  each_chunk_of_b(operands, [&](uint32_t address, int, int) { inside("b", address); });
  if (operands.a_in_registers) return;
  check_descriptor("a", operands.a, where);
  each_chunk_of_a(operands, 0, kProductRows, [&](uint32_t address, int, int) { inside("a", address); });
}

void each_chunk(const Block& block, const ProductOperands& operands, int warp_of_group,
                const std::function<void(const std::byte*)>& each) {
  each_chunk_of_b(operands, [&](uint32_t address, int, int) { each(place(block, address)); });
  if (operands.a_in_registers) return;
  each_chunk_of_a(operands, 16 * warp_of_group, 16 * warp_of_group + 16,
                  [&](uint32_t address, int, int) { each(place(block, address)); });
}

void multiply(const Block& block, const ProductOperands& operands, const RegisterOperand& a,
              std::vector<float>& sums) {
  (operands.is_bf16 ? multiply_as<bf16> : multiply_as<fp16>)(block, operands, a, sums);
}

}  // namespace flashmoe::model
