// SPDX-License-Identifier: MIT
// Included once per mutant, behind its kernel, with `naive` defined as the mutant's own name and
// FLASHMOE_SCORES, FLASHMOE_PAIRS, FLASHMOE_LENGTHS and FLASHMOE_DROPOUT as whether the form changes scores,
// does so by a tensor, takes lengths, and leaves out weights.

namespace flashmoe::test::FLASHMOE_MUTANT {

inline void run(const kernels::ForwardParams& params, const kernels::Runs& runs, bool, int, unsigned blocks) {
  using Plain = kernels::naive::Spec<fp16, 128>;
  using Changed =
      std::conditional_t<FLASHMOE_PAIRS, kernels::naive::WithPairs<Plain>, kernels::naive::WithScores<Plain>>;
  using Kept = std::conditional_t<FLASHMOE_LENGTHS, kernels::naive::WithLengths<Plain>,
                                  std::conditional_t<FLASHMOE_SCORES, Changed, Plain>>;
  using S = std::conditional_t<FLASHMOE_DROPOUT, kernels::naive::WithDropout<Kept>, Kept>;
  const auto scores = scores_for<typename S::Scores>();
  gpu::launch(&kernels::naive::naive_forward<S>,
              {.kernel = "mutant",
               .blocks = blocks,
               .threads = kernels::naive::kThreads,
               .smem_bytes = sizeof(kernels::naive::SmemOf<S>)},
              params, runs, FLASHMOE_LENGTHS ? lists_at_hand().table : kernels::RowTable{}, scores);
}

inline const Registration registration(std::string("naive") + (FLASHMOE_DROPOUT ? ", dropout" : "") +
                                           (FLASHMOE_LENGTHS  ? ", lengths"
                                            : FLASHMOE_PAIRS  ? ", pairs"
                                            : FLASHMOE_SCORES ? ", scores"
                                                              : ""),
                                       FLASHMOE_MISTAKE, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
