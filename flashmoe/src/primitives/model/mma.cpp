// SPDX-License-Identifier: MIT
#include "primitives/model/mma.h"

#include <cstring>

#include "primitives/model/small_product.h"
#include "primitives/model/widen.h"

namespace flashmoe::gpu::inline FLASHMOE_TARGET {
namespace {

struct Operands {
  float* c;
  const uint32_t* a;
  uint32_t b[2];
};

template <class T>
void multiply(void* const* lanes) {
  uint16_t a_bits[16][16];
  uint16_t b_bits[16][8];  // [k][n]: the inner loop runs along n
  for (int l = 0; l < 32; ++l) {
    const auto& from = *static_cast<const Operands*>(lanes[l]);
    const int g = l / 4;
    const int t = 2 * (l % 4);
    std::memcpy(&a_bits[g][t], &from.a[0], 4);
    std::memcpy(&a_bits[g + 8][t], &from.a[1], 4);
    std::memcpy(&a_bits[g][t + 8], &from.a[2], 4);
    std::memcpy(&a_bits[g + 8][t + 8], &from.a[3], 4);
    for (int i = 0; i < 2; ++i) {
      b_bits[t + 8 * i][g] = static_cast<uint16_t>(from.b[i]);
      b_bits[t + 8 * i + 1][g] = static_cast<uint16_t>(from.b[i] >> 16);
    }
  }
  const model::Widen<T> widen;
  float a[16][16];
  float b[16][8];
  widen.all(a_bits[0], a[0], 256);
  widen.all(b_bits[0], b[0], 128);
  float c[16][8]{};
  model::add_product(c[0], a, b[0], 16, 8);
  for (int l = 0; l < 32; ++l) {
    auto& to = *static_cast<Operands*>(lanes[l]);
    const int g = l / 4;
    const int t = 2 * (l % 4);
    to.c[0] += c[g][t];
    to.c[1] += c[g][t + 1];
    to.c[2] += c[g + 8][t];
    to.c[3] += c[g + 8][t + 1];
  }
}

}  // namespace

template <class T>
void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                  const model::Where& where) {
  Operands mine{c, a, {b0, b1}};
  model::meet("mma_m16n8k16", &multiply<T>, &mine, where);
}

template void mma_m16n8k16<fp16>(float (&)[4], const uint32_t (&)[4], uint32_t, uint32_t,
                                 const model::Where&);
template void mma_m16n8k16<bf16>(float (&)[4], const uint32_t (&)[4], uint32_t, uint32_t,
                                 const model::Where&);

}  // namespace flashmoe::gpu::inline FLASHMOE_TARGET
