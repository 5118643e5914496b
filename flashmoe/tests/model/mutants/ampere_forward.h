// SPDX-License-Identifier: MIT
// Included once per form, behind a copy of the kernel, with `ampere_forward` defined as the copy's name and
// FLASHMOE_HEAD_DIM and FLASHMOE_ALIGNED as those of the form to compile; without them, every problem gets
// the form for it. With FLASHMOE_RUNS, the form for runs of keys at 64; with FLASHMOE_GENERAL, the general
// one, and with FLASHMOE_DROPOUT as whether problems have dropout; with FLASHMOE_PAIRS, that with a tensor.

namespace flashmoe::test::FLASHMOE_MUTANT {

#ifdef FLASHMOE_RUNS
inline void run(const kernels::ForwardParams& params, const kernels::Runs& runs, bool, int, unsigned blocks) {
  using S = kernels::ampere_forward::Spec<fp16, 64, true>;
  gpu::launch(&kernels::ampere_forward::ampere_forward_runs<S>,
              {.kernel = "mutant",
               .blocks = blocks,
               .blocks_y = static_cast<unsigned>(params.num_splits),
               .threads = S::threads,
               .smem_bytes = sizeof(kernels::ampere_forward::Smem<S>)},
              params, runs);
}
inline const Registration registration("ampere_forward at 64, runs", FLASHMOE_FORM, &run);
#elif defined(FLASHMOE_PAIRS)
inline void run(const kernels::ForwardParams& params, const kernels::Runs& runs, bool, int, unsigned blocks) {
  using S = kernels::ampere_forward::PairsSpec<fp16, 64>;
  kernels::ForwardParams changed = params;
  changed.scale_log2e = scores_at_hand().scale_log2e;
  gpu::launch(&kernels::ampere_forward::ampere_forward_pairs<S>,
              {.kernel = "mutant",
               .blocks = blocks,
               .blocks_y = static_cast<unsigned>(params.num_splits),
               .threads = S::threads,
               .smem_bytes = sizeof(kernels::ampere_forward::Smem<S>)},
              changed,
              kernels::ampere_forward::GeneralParams{runs, lists_at_hand().table, lists_at_hand().tiles[0],
                                                     scores_at_hand().params, scores_at_hand().dropout},
              kernels::ampere_forward::GeneralPairs{scores_at_hand().pairs, scores_at_hand().bits});
}
inline const Registration registration("ampere_forward at 64, pairs", FLASHMOE_FORM, &run);
#elif defined(FLASHMOE_GENERAL)
inline void run(const kernels::ForwardParams& params, const kernels::Runs& runs, bool, int, unsigned blocks) {
  using S = kernels::ampere_forward::GeneralSpec<fp16, 64>;
  kernels::ForwardParams changed = params;
  changed.scale_log2e = scores_at_hand().scale_log2e;
  gpu::launch(&kernels::ampere_forward::ampere_forward_general<S>,
              {.kernel = "mutant",
               .blocks = blocks,
               .blocks_y = static_cast<unsigned>(params.num_splits),
               .threads = S::threads,
               .smem_bytes = sizeof(kernels::ampere_forward::Smem<S>)},
              changed,
              kernels::ampere_forward::GeneralParams{runs, lists_at_hand().table, lists_at_hand().tiles[0],
                                                     scores_at_hand().params, scores_at_hand().dropout});
}
inline const Registration registration(FLASHMOE_DROPOUT ? "ampere_forward at 64, dropout, general"
                                                        : "ampere_forward at 64, general",
                                       FLASHMOE_FORM, &run);
#else
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

#ifdef FLASHMOE_HEAD_DIM
inline void run(const kernels::ForwardParams& params, const kernels::Runs&, bool, int, unsigned blocks) {
  start<FLASHMOE_HEAD_DIM, FLASHMOE_ALIGNED>(params, blocks);
}
inline const Registration registration(!FLASHMOE_ALIGNED          ? "ampere_forward unaligned at 44"
                                       : FLASHMOE_HEAD_DIM == 128 ? "ampere_forward at 128"
                                                                  : "ampere_forward at 64",
                                       FLASHMOE_FORM, &run);
#else
inline void run(const kernels::ForwardParams& params, const kernels::Runs&, bool aligned, int,
                unsigned blocks) {
  if (!aligned) return start<64, false>(params, blocks);
  params.head_dim <= 64 ? start<64, true>(params, blocks) : start<128, true>(params, blocks);
}
inline const Registration registration("ampere_forward", FLASHMOE_FORM, &run);
#endif
#endif

}  // namespace flashmoe::test::FLASHMOE_MUTANT
