// SPDX-License-Identifier: MIT
#pragma once

namespace flashmoe::cpu {

// Kernels that fold the scale into the subtraction, exp2(scale S - m) by one fused multiply-add, leave the
// rounding error of m at the maximum, where 0 would be right: m is rounded, the product is not. Up to this
// size of m, in units of log2, that error changes no bf16 weight. Beyond it they round the product first, so
// that the maximum meets itself.
inline constexpr float kLargeScore = 0x1p12F;

}  // namespace flashmoe::cpu
