// SPDX-License-Identifier: MIT
// The kernels in portable SIMD, compiled once for each instruction set and chosen at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/highway.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway wants it:
#include <hwy/highway.h>

#include "cpu/kernels.h"
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "cpu/tile_fp32-inl.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

const Kernel& tiled(DType) { return portable_kernel(); }

#else

template <class T>
const Kernel& tiled_of() {
  static const Kernel kernel{.name = "tiled fp32",
                             .reason = "K and V packed in fp32, one block of keys at a time",
                             .attend = attend_tiled<TileFp32<T> >,
                             .scratch_bytes = tiled_scratch_bytes<TileFp32<T> >,
                             .panel_rows = TileFp32<T>::panel_rows(),
                             .packing_rows = 10};
  return kernel;
}

const Kernel& tiled(DType dtype) {
  switch (dtype) {
    case DType::fp16:
      return tiled_of<fp16>();
    case DType::bf16:
      return tiled_of<bf16>();
    default:
      return tiled_of<float>();
  }
}

#endif

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flashmoe::cpu {

HWY_EXPORT(tiled);
HWY_EXPORT(target_name);

const Kernel& tiled_kernel(DType dtype) { return HWY_DYNAMIC_DISPATCH(tiled)(dtype); }

const char* simd_name() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace flashmoe::cpu
#endif
