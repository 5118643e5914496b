// SPDX-License-Identifier: MIT
// Included once per form, behind a copy of the kernels, with `naive_backward` defined as the copy's name and
// FLASHMOE_GENERAL and FLASHMOE_LENGTHS as whether the form is a general one, and takes lengths.

namespace flashmoe::test::FLASHMOE_MUTANT {

inline void run(const kernels::BackwardParams& params) {
  using Plain = kernels::naive_backward::Spec<fp16, 64>;
  namespace naive = kernels::naive_backward;
  using S = std::conditional_t<FLASHMOE_LENGTHS, naive::GeneralLengths<Plain>,
                               std::conditional_t<FLASHMOE_GENERAL, naive::General<Plain>, Plain>>;
  const auto scores = scores_for<typename S::Scores>();
  const ListsAtHand& lists = lists_at_hand();
  const auto tiles = [](int rows) { return (rows + naive::kTile - 1) / naive::kTile; };
  const auto shape = [](int blocks) {
    return gpu::LaunchShape{.kernel = "mutant",
                            .blocks = static_cast<unsigned>(blocks),
                            .threads = naive::kThreads,
                            .smem_bytes = sizeof(naive::SmemOf<S>)};
  };
  const auto start = [&](auto kernel, int rows, int heads, int list) {
    const int of_head = S::lengths ? lists.capacity[list] : tiles(rows) * params.batch;
    gpu::launch(kernel, shape(of_head * heads), params, scores);
  };
  start(&naive::naive_dkv<S>, params.kv_rows, params.kv_heads, 1);
  start(&naive::naive_dq<S>, params.q_rows, params.q_heads, 0);
  const auto differentiate_pairs = [&]<class Form>(const typename Form::Scores& with_pairs) {
    if constexpr (std::is_base_of_v<kernels::PairScoreParams, typename Form::Scores>) {
      using Sums = kernels::PairSums;
      const auto& [data, strides] = scores_at_hand().dattn_mask;
      if (data == nullptr) return;  // nobody wants it
      const int blocks = Sums::parts(strides[0], params.batch) * Sums::parts(strides[1], params.q_heads) *
                         Sums::parts(strides[2], tiles(params.q_rows)) *
                         Sums::parts(strides[3], tiles(params.kv_rows));
      gpu::launch(&naive::naive_dpairs<Form>, shape(blocks), params, with_pairs,
                  Sums{data, strides[0], strides[1], strides[2], strides[3]});
    }
  };
  differentiate_pairs.template operator()<S>(scores);
}

inline const Registration registration(FLASHMOE_LENGTHS   ? "naive_backward, lengths"
                                       : FLASHMOE_GENERAL ? "naive_backward, general"
                                                          : "naive_backward",
                                       FLASHMOE_FORM, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
