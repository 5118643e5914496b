// SPDX-License-Identifier: MIT
// Included once per mutant, behind its kernel, with `hopper_forward` defined as the mutant's own name and
// FLASHMOE_HEAD_DIM as that of the form to compile.

namespace flashmoe::test::FLASHMOE_MUTANT {

inline void run(const kernels::ForwardParams& problem, bool, int, unsigned blocks) {
  constexpr int kTuning = hopper_tuning(FLASHMOE_HEAD_DIM);
  using S = kernels::hopper_forward::Spec<fp16, kTuning>;
  const auto real = hopper_params(problem, kTuning, blocks);
  const kernels::hopper_forward::Params params{real.q,       real.out,   real.k,     real.v,
                                               real.problem, real.tiles, real.blocks};
  gpu::launch(&kernels::hopper_forward::hopper_forward<S>,
              {.kernel = "mutant",
               .blocks = blocks,
               .threads = S::threads,
               .smem_bytes = sizeof(kernels::hopper_forward::Smem<S>)},
              params);
}

inline const Registration registration(FLASHMOE_HEAD_DIM == 64 ? "hopper_forward at 64"
                                                               : "hopper_forward at 128",
                                       FLASHMOE_MISTAKE, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
