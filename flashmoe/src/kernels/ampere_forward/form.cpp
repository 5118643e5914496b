// SPDX-License-Identifier: MIT
#include "kernels/ampere_forward/launch.h"
#include "kernels/ampere_forward/smem.h"
#include "numeric/half.h"

namespace flashmoe::kernels::ampere_forward {
namespace {

template <class S>
Form form_of() {
  static_assert(sizeof(Smem<S>) <= 99 * 1024, "sm_89 gives a block 99 KB");
  return {S::head_dim, S::tuning.tile_q, S::tuning.tile_kv, S::threads, sizeof(Smem<S>)};
}
template <int kDim, bool kAligned>
Form form() {
  return form_of<Spec<fp16, kDim, kAligned>>();
}
template <int kDim>
Form general_form() {
  return form_of<GeneralSpec<fp16, kDim>>();
}
template <int kDim>
Form pairs_form() {
  return form_of<PairsSpec<fp16, kDim>>();
}

}  // namespace

Form form_for(int head_dim, bool aligned) {
  if (!aligned)
    return head_dim <= 64 ? form<64, false>() : head_dim <= 128 ? form<128, false>() : form<256, false>();
  if (head_dim <= 32) return form<32, true>();
  if (head_dim <= 64) return form<64, true>();
  if (head_dim <= 96) return form<96, true>();
  if (head_dim <= 128) return form<128, true>();
  if (head_dim <= 192) return form<192, true>();
  return form<256, true>();
}

Form form_for_runs(int head_dim) {
  return head_dim <= 64 ? form<64, true>() : head_dim <= 128 ? form<128, true>() : form<256, true>();
}

Form general_form_for(int head_dim) {
  return head_dim <= 64 ? general_form<64>() : head_dim <= 128 ? general_form<128>() : general_form<256>();
}

Form pairs_form_for(int head_dim) {
  return head_dim <= 64 ? pairs_form<64>() : head_dim <= 128 ? pairs_form<128>() : pairs_form<256>();
}

}  // namespace flashmoe::kernels::ampere_forward
