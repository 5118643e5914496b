// SPDX-License-Identifier: MIT
// Included once per form, behind a copy of the kernel, with `naive` defined as the copy's name and
// FLASHMOE_GENERAL and FLASHMOE_LENGTHS as whether the form is a general one, and takes lengths.

namespace flashmoe::test::FLASHMOE_MUTANT {

inline void run(const kernels::ForwardParams& params, const kernels::Runs& runs, bool, int, unsigned blocks) {
  using Plain = kernels::naive::Spec<fp16, 128>;
  using S = std::conditional_t<FLASHMOE_LENGTHS, kernels::naive::GeneralLengths<Plain>,
                               std::conditional_t<FLASHMOE_GENERAL, kernels::naive::General<Plain>, Plain>>;
  const auto scores = scores_for<typename S::Scores>();
  gpu::launch(&kernels::naive::naive_forward<S>,
              {.kernel = "mutant",
               .blocks = blocks,
               .threads = kernels::naive::kThreads,
               .smem_bytes = sizeof(kernels::naive::SmemOf<S>)},
              params, runs, FLASHMOE_LENGTHS ? lists_at_hand().table : kernels::RowTable{}, scores);
}

inline const Registration registration(FLASHMOE_LENGTHS   ? "naive, lengths"
                                       : FLASHMOE_GENERAL ? "naive, general"
                                                          : "naive",
                                       FLASHMOE_FORM, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
