// SPDX-License-Identifier: MIT
// Included once per form, behind a copy of the kernel, with `hopper_backward` defined as the copy's name and
// FLASHMOE_HEAD_DIM, FLASHMOE_VISIBLE and FLASHMOE_CHANGE as those of the form to compile.

namespace flashmoe::test::FLASHMOE_MUTANT {

inline void run(const kernels::BackwardParams& problem) {
  constexpr int kTuning = hopper_backward_tuning(FLASHMOE_HEAD_DIM);
  using S = kernels::hopper_backward::Spec<fp16, kTuning, kernels::hopper_backward::Visible::FLASHMOE_VISIBLE,
                                           kernels::Change::FLASHMOE_CHANGE>;
  const kernels::Places entries{problem.batch, problem.batch};
  auto real = hopper_backward_params(problem, kTuning, S::lengths ? lists_at_hand().places : entries);
  if (S::change != kernels::Change::none) real.problem.scale_log2e = scores_at_hand().scale_log2e;
  const kernels::hopper_backward::Params params{
      real.q,
      real.dout,
      real.k,
      real.v,
      real.dk,
      real.dv,
      real.problem,
      scores_at_hand().params,
      lists_at_hand().tiles[0],
      lists_at_hand().padded,
      scores_at_hand().bits,
      bias_map_at_hand(S::adds_bias, problem.batch, problem.q_heads)};
  gpu::launch(&kernels::hopper_backward::hopper_backward<S>,
              {.kernel = "mutant",
               .blocks = S::persistent ? problem.blocks
                                       : static_cast<unsigned>(problem.order.q_tiles * problem.order.heads *
                                                               problem.order.batch),
               .threads = kernels::hopper_backward::kThreads,
               .smem_bytes = sizeof(kernels::hopper_backward::Smem<S>),
               .programmatic = true},
              params);
}

constexpr const char* kSeen =
    kernels::hopper_backward::Visible::FLASHMOE_VISIBLE == kernels::hopper_backward::Visible::runs ? ", runs"
    : kernels::hopper_backward::Visible::FLASHMOE_VISIBLE == kernels::hopper_backward::Visible::lengths
        ? ", lengths"
    : kernels::hopper_backward::Visible::FLASHMOE_VISIBLE == kernels::hopper_backward::Visible::bits
        ? ", bits"
        : "";
inline const Registration registration(
    std::string(FLASHMOE_HEAD_DIM == 64    ? "hopper_backward at 64"
                : FLASHMOE_HEAD_DIM == 128 ? "hopper_backward at 128"
                                           : "hopper_backward at 256") +
        kSeen +
        (kernels::Change::FLASHMOE_CHANGE == kernels::Change::softcap  ? ", softcap"
         : kernels::Change::FLASHMOE_CHANGE == kernels::Change::slopes ? ", slopes"
         : kernels::Change::FLASHMOE_CHANGE == kernels::Change::bias   ? ", bias"
                                                                       : ""),
    FLASHMOE_FORM, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
