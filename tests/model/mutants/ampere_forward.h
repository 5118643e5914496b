// SPDX-License-Identifier: MIT
// Included once per mutant, behind its kernel and with `ampere_forward` defined as the mutant's own name.

namespace flashmoe::test::FLASHMOE_MUTANT {

template <int kDim, bool kAligned>
void start(const kernels::ForwardParams& params, unsigned blocks) {
  using S = kernels::ampere_forward::Spec<fp16, kDim, kAligned>;
  gpu::launch(&kernels::ampere_forward::ampere_forward<S>,
              {.kernel = "mutant",
               .blocks = blocks,
               .blocks_y = static_cast<unsigned>(params.num_splits),
               .threads = S::threads,
               .smem_bytes = sizeof(kernels::ampere_forward::Smem<S>)},
              params);
}

inline void run(const kernels::ForwardParams& params, bool aligned, int, unsigned blocks) {
  if (!aligned) return start<64, false>(params, blocks);
  params.head_dim <= 64 ? start<64, true>(params, blocks) : start<128, true>(params, blocks);
}

inline const Registration registration("ampere_forward", FLASHMOE_MISTAKE, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
