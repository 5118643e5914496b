// SPDX-License-Identifier: MIT
// Included once per mutant, behind its kernels, with `naive_backward` defined as the mutant's own name and
// FLASHMOE_SCORES and FLASHMOE_LENGTHS as whether the form changes scores, and takes lengths.

namespace flashmoe::test::FLASHMOE_MUTANT {

inline void run(const kernels::BackwardParams& params) {
  using Plain = kernels::naive_backward::Spec<fp16, 64>;
  namespace naive = kernels::naive_backward;
  using S = std::conditional_t<FLASHMOE_LENGTHS, naive::WithLengths<Plain>,
                               std::conditional_t<FLASHMOE_SCORES, naive::WithScores<Plain>, Plain>>;
  const auto scores = scores_for<typename S::Scores>();
  const ListsAtHand& lists = lists_at_hand();
  const auto start = [&](auto kernel, int rows, int heads, int list) {
    constexpr int kTile = kernels::naive_backward::kTile;
    const int tiles = S::lengths ? lists.capacity[list] : (rows + kTile - 1) / kTile * params.batch;
    gpu::launch(kernel,
                {.kernel = "mutant",
                 .blocks = static_cast<unsigned>(tiles * heads),
                 .threads = kernels::naive_backward::kThreads,
                 .smem_bytes = sizeof(kernels::naive_backward::Smem)},
                params, scores);
  };
  start(&kernels::naive_backward::naive_dkv<S>, params.kv_rows, params.kv_heads, 1);
  start(&kernels::naive_backward::naive_dq<S>, params.q_rows, params.q_heads, 0);
}

inline const Registration registration(FLASHMOE_LENGTHS  ? "naive_backward, lengths"
                                       : FLASHMOE_SCORES ? "naive_backward, scores"
                                                         : "naive_backward",
                                       FLASHMOE_MISTAKE, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
