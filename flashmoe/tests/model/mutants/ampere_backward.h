// SPDX-License-Identifier: MIT
// Included once per form, behind a copy of the kernel, with `ampere_backward` defined as the copy's name, and
// FLASHMOE_HEAD_DIM, FLASHMOE_STAGES and FLASHMOE_VISIBLE as those of the form to compile, and
// FLASHMOE_DROPOUT as whether problems have dropout.

namespace flashmoe::test::FLASHMOE_MUTANT {

constexpr auto kForm = kernels::ampere_backward::Form::FLASHMOE_VISIBLE;
constexpr bool kPairs = kForm == kernels::ampere_backward::Form::pairs;
constexpr bool kGeneral = kForm == kernels::ampere_backward::Form::general || kPairs;
using S =
    kernels::ampere_backward::Spec<fp16, ampere_backward_tuning(FLASHMOE_HEAD_DIM, FLASHMOE_STAGES, kGeneral),
                                   kForm>;

template <class Params>
Params params_of(const kernels::BackwardParams& problem) {
  if constexpr (std::is_same_v<Params, kernels::ampere_backward::GeneralPairParams>) {
    const auto& [data, strides] = scores_at_hand().dattn_mask;
    return {params_of<kernels::ampere_backward::GeneralParams>(problem),
            scores_at_hand().pairs,
            {data, strides[0], strides[1], strides[2], strides[3]},
            scores_at_hand().sums_pairs};
  } else if constexpr (!std::is_same_v<Params, kernels::BackwardParams>) {
    return {problem,
            scores_at_hand().params,
            scores_at_hand().dropout,
            scores_at_hand().num_first_keys,
            lists_at_hand().tiles[0],
            lists_at_hand().padded};
  } else {
    return problem;
  }
}

inline void run(const kernels::BackwardParams& params) {
  gpu::launch(
      &kernels::ampere_backward::ampere_backward<S>,
      {.kernel = "mutant",
       .blocks = static_cast<unsigned>(params.order.q_tiles * params.order.heads * params.order.batch),
       .threads = S::threads,
       .smem_bytes = sizeof(kernels::ampere_backward::Smem<S>),
       .blocks_per_sm = S::tuning.blocks_per_sm,
       .programmatic = true},
      params_of<S::Params>(params));
}

inline const Registration registration(std::string("ampere_backward") +
                                           (kForm == kernels::ampere_backward::Form::from_first &&
                                                    FLASHMOE_STAGES == 1
                                                ? " with one stage"
                                            : FLASHMOE_HEAD_DIM == 64 ? " at 64"
                                                                      : " at 128") +
                                           (FLASHMOE_DROPOUT ? ", dropout" : "") +
                                           (kPairs                                          ? ", pairs"
                                            : kGeneral                                      ? ", general"
                                            : kForm == kernels::ampere_backward::Form::runs ? ", runs"
                                                                                            : ""),
                                       FLASHMOE_FORM, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
