// SPDX-License-Identifier: MIT
#include "kernels/small_forward/launch.h"

#include <array>
#include <utility>

#include "kernels/small_forward/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::small::inline FLASHMOE_TARGET {
namespace {

template <class Spec>
void start(const ForwardParams& params, bool programmatic, void* stream) {
  static_assert(sizeof(Smem<Spec>) == Spec::tuning.smem_bytes());
  const int rows = params.group * params.q_rows;
  gpu::launch(&small_forward<Spec>,
              {.kernel = "small_forward",
               .blocks = static_cast<unsigned>((rows + kRows - 1) / kRows),
               .blocks_y = static_cast<unsigned>(params.order.batch * params.order.heads),
               .threads = Spec::tuning.threads(),
               .smem_bytes = Spec::tuning.smem_bytes(),
               .programmatic = programmatic,
               .stream = stream},
              params, programmatic);
}

using Start = void (*)(const ForwardParams&, bool, void*);

template <class T, int... kIndex>
constexpr std::array<Start, sizeof...(kIndex)> table(std::integer_sequence<int, kIndex...>) {
  return {&start<Spec<T, kIndex>>...};
}

}  // namespace

void launch(DType dtype, const ForwardParams& params, int tuning, bool programmatic, void* stream) {
  using Indices = std::make_integer_sequence<int, static_cast<int>(std::size(kTunings))>;
  static constexpr auto kFp16 = table<fp16>(Indices());
  static constexpr auto kBf16 = table<bf16>(Indices());
  (dtype == DType::fp16 ? kFp16 : kBf16)[static_cast<std::size_t>(tuning)](params, programmatic, stream);
}

}  // namespace flashmoe::kernels::small::inline FLASHMOE_TARGET
