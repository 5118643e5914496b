// SPDX-License-Identifier: MIT
// Included once per mutant, behind its kernel, with `naive` defined as the mutant's own name and
// FLASHMOE_SCORES, FLASHMOE_PAIRS and FLASHMOE_LENGTHS as whether the form changes scores, does so by a
// tensor, and takes lengths.

namespace flashmoe::test::FLASHMOE_MUTANT {

inline void run(const kernels::ForwardParams& params, const kernels::Runs& runs, bool, int, unsigned blocks) {
  using Plain = kernels::naive::Spec<fp16, 128>;
  using Changed =
      std::conditional_t<FLASHMOE_PAIRS, kernels::naive::WithPairs<Plain>, kernels::naive::WithScores<Plain>>;
  using S = std::conditional_t<FLASHMOE_LENGTHS, kernels::naive::WithLengths<Plain>,
                               std::conditional_t<FLASHMOE_SCORES, Changed, Plain>>;
  const auto scores = scores_for<typename S::Scores>();
  gpu::launch(&kernels::naive::naive_forward<S>,
              {.kernel = "mutant",
               .blocks = blocks,
               .threads = kernels::naive::kThreads,
               .smem_bytes = sizeof(kernels::naive::Smem)},
              params, runs, kernels::RowTable{}, scores);
}

inline const Registration registration(FLASHMOE_LENGTHS  ? "naive, lengths"
                                       : FLASHMOE_PAIRS  ? "naive, pairs"
                                       : FLASHMOE_SCORES ? "naive, scores"
                                                         : "naive",
                                       FLASHMOE_MISTAKE, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
