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
              typename Spec::Params(params, programmatic));
}

using Start = void (*)(const ForwardParams&, bool, void*);

template <class T, bool kPlain, int... kIndex>
constexpr std::array<Start, sizeof...(kIndex)> table(std::integer_sequence<int, kIndex...>) {
  return {&start<Spec<T, kIndex, kPlain>>...};
}

template <class T>
Start find(std::size_t tuning, bool plain) {
  using Indices = std::make_integer_sequence<int, static_cast<int>(std::size(kTunings))>;
  static constexpr auto kAny = table<T, false>(Indices());
  static constexpr auto kPlain = table<T, true>(Indices());
  return (plain ? kPlain : kAny)[tuning];
}

// Whether the heads of all batch entries follow each other without gaps.
bool dense(const View& view, const ForwardParams& p, int rows) {
  const int64_t head = int64_t{rows} * p.head_dim;
  if (view.row_stride != p.head_dim && rows > 1) return false;
  if (view.head_stride != head && p.q_heads > 1) return false;
  return p.order.batch == 1 || view.batch_stride == p.q_heads * head;
}

bool plain(const ForwardParams& p, const Tuning& tuning) {
  return !p.causal && p.group == 1 && p.head_dim == tuning.head_dim && p.kv_rows == tuning.max_keys() &&
         p.q_rows % kRows == 0 && dense(p.q, p, p.q_rows) && dense(p.k, p, p.kv_rows) &&
         dense(p.v, p, p.kv_rows) && dense(p.out, p, p.q_rows);
}

}  // namespace

void launch(DType dtype, const ForwardParams& params, int tuning, bool programmatic, void* stream) {
  const auto index = static_cast<std::size_t>(tuning);
  const bool is_plain = plain(params, kTunings[index]);
  const Start start = dtype == DType::fp16 ? find<fp16>(index, is_plain) : find<bf16>(index, is_plain);
  start(params, programmatic, stream);
}

}  // namespace flashmoe::kernels::small::inline FLASHMOE_TARGET
