// SPDX-License-Identifier: MIT
// Included once per mutant, behind its kernel, with `ampere_backward` defined as the mutant's own name, and
// FLASHMOE_HEAD_DIM, FLASHMOE_STAGES and FLASHMOE_RUNS as those of the form to compile.

namespace flashmoe::test::FLASHMOE_MUTANT {

inline void run(const kernels::BackwardParams& params) {
  constexpr int kTuning = ampere_backward_tuning(FLASHMOE_HEAD_DIM, FLASHMOE_STAGES);
  using S = kernels::ampere_backward::Spec<fp16, kTuning, FLASHMOE_RUNS>;
  gpu::launch(
      &kernels::ampere_backward::ampere_backward<S>,
      {.kernel = "mutant",
       .blocks = static_cast<unsigned>(params.order.q_tiles * params.order.heads * params.order.batch),
       .threads = S::threads,
       .smem_bytes = sizeof(kernels::ampere_backward::Smem<S>),
       .blocks_per_sm = S::tuning.blocks_per_sm,
       .programmatic = true},
      params);
}

inline const Registration registration(FLASHMOE_RUNS             ? "ampere_backward at 64, runs"
                                       : FLASHMOE_STAGES == 1    ? "ampere_backward with one stage"
                                       : FLASHMOE_HEAD_DIM == 64 ? "ampere_backward at 64"
                                                                 : "ampere_backward at 128",
                                       FLASHMOE_MISTAKE, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
