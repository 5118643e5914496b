// SPDX-License-Identifier: MIT
// The launch of every configuration, compiled per element type in a file of its own so that types build side
// by side.
#pragma once

#include <array>
#include <utility>

#include "kernels/decode_forward/kernel.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET {

template <class Spec>
void start(const ForwardParams& p, bool programmatic, void* stream) {
  constexpr Tuning kTuning = Spec::tuning;
  static_assert(sizeof(Smem<Spec>) == kTuning.smem_bytes());
  gpu::launch(&decode_forward<Spec>,
              {.kernel = "decode_forward",
               .blocks = static_cast<unsigned>(p.num_splits * kTuning.cluster),
               .blocks_y = static_cast<unsigned>(p.order.heads),
               .blocks_z = static_cast<unsigned>(p.order.batch),
               .threads = kTuning.threads(),
               .smem_bytes = kTuning.smem_bytes(),
               .cluster = kTuning.cluster,
               .programmatic = programmatic,
               .stream = stream},
              Params(p, kTuning, programmatic));
}

template <class T, int... kIndex>
void start_any(const ForwardParams& params, int tuning, bool programmatic, void* stream,
               std::integer_sequence<int, kIndex...>) {
  using Start = void (*)(const ForwardParams&, bool, void*);
  static constexpr std::array<Start, sizeof...(kIndex)> kStarts{&start<Spec<T, kIndex>>...};
  kStarts[static_cast<std::size_t>(tuning)](params, programmatic, stream);
}

using AllTunings = std::make_integer_sequence<int, kNumTunings>;

void launch_bf16(const ForwardParams& params, int tuning, bool programmatic, void* stream);

}  // namespace flashmoe::kernels::decode::inline FLASHMOE_TARGET
