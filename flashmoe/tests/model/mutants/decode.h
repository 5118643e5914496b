// SPDX-License-Identifier: MIT
// Included once per form, behind a copy of the kernel, with `decode`, the kernel's namespace, defined as the
// copy's name.

namespace flashmoe::test::FLASHMOE_MUTANT {

template <int kIndex>
void start(const kernels::ForwardParams& params) {
  using S = kernels::decode::Spec<fp16, kIndex>;
  gpu::launch(&kernels::decode::decode_forward<S>,
              {.kernel = "mutant",
               .blocks = static_cast<unsigned>(params.num_splits * S::tuning.cluster),
               .blocks_y = static_cast<unsigned>(params.order.heads),
               .blocks_z = static_cast<unsigned>(params.order.batch),
               .threads = S::tuning.threads(),
               .smem_bytes = S::tuning.smem_bytes(),
               .cluster = S::tuning.cluster,
               .programmatic = true},
              kernels::decode::Params(params, S::tuning, true));
}

inline void run(const kernels::ForwardParams& params, const kernels::Runs&, bool, int tuning, unsigned) {
  tuning == kDecodeInPairs ? start<kDecodeInPairs>(params) : start<kDecodeAlone>(params);
}

inline const Registration registration("decode_forward", FLASHMOE_FORM, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
