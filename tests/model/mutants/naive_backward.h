// SPDX-License-Identifier: MIT
// Included once per mutant, behind its kernels, with `naive_backward` defined as the mutant's own name and
// FLASHMOE_SCORES as whether the form changes scores.

namespace flashmoe::test::FLASHMOE_MUTANT {

inline void run(const kernels::BackwardParams& params) {
  using Plain = kernels::naive_backward::Spec<fp16, 64>;
  using S = std::conditional_t<FLASHMOE_SCORES, kernels::naive_backward::WithScores<Plain>, Plain>;
  const auto scores = scores_for<typename S::Scores>();
  const auto start = [&](auto kernel, int rows, int heads) {
    constexpr int kTile = kernels::naive_backward::kTile;
    gpu::launch(kernel,
                {.kernel = "mutant",
                 .blocks = static_cast<unsigned>((rows + kTile - 1) / kTile * heads * params.batch),
                 .threads = kernels::naive_backward::kThreads,
                 .smem_bytes = sizeof(kernels::naive_backward::Smem)},
                params, scores);
  };
  start(&kernels::naive_backward::naive_dkv<S>, params.kv_rows, params.kv_heads);
  start(&kernels::naive_backward::naive_dq<S>, params.q_rows, params.q_heads);
}

inline const Registration registration(FLASHMOE_SCORES ? "naive_backward, scores" : "naive_backward",
                                       FLASHMOE_MISTAKE, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
