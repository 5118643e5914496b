// SPDX-License-Identifier: MIT
// Included once per mutant, behind its kernel and with `naive` defined as the mutant's own name.

namespace flashmoe::test::FLASHMOE_MUTANT {

inline void run(const kernels::ForwardParams& params, const kernels::Runs& runs, bool, int, unsigned blocks) {
  gpu::launch(&kernels::naive::naive_forward<kernels::naive::Spec<fp16, 128>>,
              {.kernel = "mutant",
               .blocks = blocks,
               .threads = kernels::naive::kThreads,
               .smem_bytes = sizeof(kernels::naive::Smem)},
              params, runs);
}

inline const Registration registration("naive", FLASHMOE_MISTAKE, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
