// SPDX-License-Identifier: MIT
// The kernels in portable SIMD, compiled once for each instruction set and chosen at run time.
#include "cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/highway.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, as Highway wants it:
#include <hwy/highway.h>

#include "cpu/kernels.h"
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "cpu/rows-inl.h"
#include "cpu/tile_fp32-inl.h"
#endif

HWY_BEFORE_NAMESPACE();
namespace flashmoe::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128

const Kernel& tiled(DType) { return portable_kernel(); }
const Kernel& rows(DType) { return portable_kernel(); }

#else

template <class T>
struct Kernels {
  static const Kernel& tiled() {
    static const Kernel kernel{.name = "tiled fp32",
                               .reason = "K and V are packed as fp32, one block of keys at a time",
                               .attend = attend_tiled<TileFp32<T> >,
                               .scratch_bytes = tiled_scratch_bytes<TileFp32<T> >,
                               .panel_rows = TileFp32<T>::panel_rows(),
                               .packing_rows = 10};
    return kernel;
  }
  static const Kernel& rows() {
    static const Kernel kernel{.name = "rows",
                               .reason = "so few query rows that K and V are best read once, in place",
                               .attend = attend_rows<T>,
                               .scratch_bytes = rows_scratch_bytes,
                               .panel_rows = kRowGroup,
                               .packing_rows = 8};
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

#endif

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace flashmoe::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flashmoe::cpu {

HWY_EXPORT(tiled);
HWY_EXPORT(rows);
HWY_EXPORT(target_name);

const Kernel& tiled_kernel(DType dtype) { return HWY_DYNAMIC_DISPATCH(tiled)(dtype); }

const Kernel& rows_kernel(DType dtype) { return HWY_DYNAMIC_DISPATCH(rows)(dtype); }

const char* simd_name() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace flashmoe::cpu
#endif
