// SPDX-License-Identifier: MIT
// The kernels in portable SIMD, compiled once for each instruction set and chosen at run time.
#include "cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/highway.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway wants it:
#include <hwy/highway.h>

#include "cpu/backward_kernels.h"
#include "cpu/kernels.h"

#ifndef FLASHMOE_CPU_HIGHWAY_ONCE_
#define FLASHMOE_CPU_HIGHWAY_ONCE_
namespace flashmoe::cpu {

// What one instruction set offers.
struct Target {
  const char* name;
  int64_t lanes;  // of fp32
  const Kernel& (*tiled)(DType);
  const Kernel& (*rows)(DType);
  const BackwardKernel& (*backward)(DType);
};

}  // namespace flashmoe::cpu
#endif

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "cpu/backward_fp32-inl.h"
#include "cpu/rows-inl.h"
#include "cpu/tile_fp32-inl.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

const Kernel& tiled(DType) { return portable_kernel(); }
const Kernel& rows(DType) { return portable_kernel(); }
const BackwardKernel& backward(DType) { return portable_backward_kernel(); }

#else

template <class T>
struct Kernels {
  static const Kernel& tiled() {
    static const Kernel kernel{
        .name = "tiled fp32",
        .reason = "K and V as fp32, packed one block of keys at a time where enough rows meet them",
        .attend = attend_tiled<TileFp32<T> >,
        .scratch_bytes = tiled_scratch_bytes<TileFp32<T> >,
        .panel_rows = TileFp32<T>::panel_rows(),
        .packing_rows = 12};
    return kernel;
  }
  static const Kernel& rows() {
    static const Kernel kernel{.name = "rows",
                               .reason = "so few query rows that K and V are best read once, in place",
                               .attend = attend_rows<T>,
                               .scratch_bytes = rows_scratch_bytes,
                               .panel_rows = kRowGroup,
                               .packing_rows = 8,
                               .takes_heads = true};
    return kernel;
  }
  static const BackwardKernel& backward() {
    static const BackwardKernel kernel{
        .name = "tiled fp32",
        .reason = "Q, K, V and dO as fp32, packed one block of rows and one block of keys at a time",
        .differentiate = differentiate_fp32<T>,
        .scratch_bytes = backward_scratch_bytes,
        .panel_rows = unit(),
        .sum_stride = padded_dim,
        .packing_keys = 8,
        .core_flop_per_us = 60e3};
    return kernel;
  }
};

const Kernel& tiled(DType dtype) {
  switch (dtype) {
    case DType::fp16:
      return Kernels<fp16>::tiled();
    case DType::bf16:
      return Kernels<bf16>::tiled();
    default:
      return Kernels<float>::tiled();
  }
}

const Kernel& rows(DType dtype) {
  switch (dtype) {
    case DType::fp16:
      return Kernels<fp16>::rows();
    case DType::bf16:
      return Kernels<bf16>::rows();
    default:
      return Kernels<float>::rows();
  }
}

const BackwardKernel& backward(DType dtype) {
  switch (dtype) {
    case DType::fp16:
      return Kernels<fp16>::backward();
    case DType::bf16:
      return Kernels<bf16>::backward();
    default:
      return Kernels<float>::backward();
  }
}

#endif

Target target() {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return {"portable", 1, tiled, rows, backward};
#else
  return {hwy::TargetName(HWY_TARGET), lanes(), tiled, rows, backward};
#endif
}

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flashmoe::cpu {

HWY_EXPORT(target);

namespace {

const Target& chosen() {
  static const Target best = [] {
    const Target widest = HWY_DYNAMIC_DISPATCH(target)();
    // Scalable vectors that are no longer than NEON's: NEON multiplies by one lane, which saves loads.
    return HWY_ARCH_ARM_A64 && widest.lanes == 4 ? HWY_STATIC_DISPATCH(target)() : widest;
  }();
  return best;
}

}  // namespace

const Kernel& tiled_kernel(DType dtype) { return chosen().tiled(dtype); }
const Kernel& rows_kernel(DType dtype) { return chosen().rows(dtype); }
const BackwardKernel& tiled_backward_kernel(DType dtype) { return chosen().backward(dtype); }
const char* simd_name() { return chosen().name; }

}  // namespace flashmoe::cpu
#endif
