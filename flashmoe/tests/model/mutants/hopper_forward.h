// SPDX-License-Identifier: MIT
// Included once per form, behind a copy of the kernel, with `hopper_forward` defined as the copy's name and
// FLASHMOE_HEAD_DIM, FLASHMOE_BLOCKS_PER_SM, FLASHMOE_SPLITS, FLASHMOE_VISIBLE and FLASHMOE_CHANGE as those
// of the form to compile. Its causal kernel takes problems without a mask too.

namespace flashmoe::test::FLASHMOE_MUTANT {

inline void run(const kernels::ForwardParams& problem, const kernels::Runs& runs, bool, int,
                unsigned blocks) {
  constexpr int kTuning = hopper_tuning(FLASHMOE_HEAD_DIM, FLASHMOE_BLOCKS_PER_SM, FLASHMOE_SPLITS);
  using S = kernels::hopper_forward::Spec<fp16, kTuning, kernels::hopper_forward::Visible::FLASHMOE_VISIBLE,
                                          kernels::Change::FLASHMOE_CHANGE>;
  const kernels::Places entries{problem.order.batch, problem.order.batch};
  auto real = hopper_params(problem, kTuning, blocks, S::lengths ? lists_at_hand().places : entries);
  if (S::change != kernels::Change::none) real.problem.scale_log2e = scores_at_hand().scale_log2e;
  const kernels::hopper_forward::Params params{
      real.q,
      real.out,
      real.k,
      real.v,
      real.problem,
      real.tiles,
      real.blocks,
      real.pack_shift,
      runs,
      kernels::RowTable{},
      scores_at_hand().params,
      lists_at_hand().tiles[0],
      scores_at_hand().bits,
      bias_map_at_hand(S::adds_bias, problem.order.batch, problem.q_heads)};
  gpu::launch(&kernels::hopper_forward::hopper_forward<S>,
              {.kernel = "mutant",
               .blocks = params.blocks,
               .threads = S::threads,
               .smem_bytes = sizeof(kernels::hopper_forward::Smem<S>),
               .blocks_per_sm = S::tuning.blocks_per_sm},
              params);
}

inline const Registration registration(
    std::string(FLASHMOE_SPLITS               ? "hopper_forward with shares at 64"
                : FLASHMOE_BLOCKS_PER_SM == 2 ? "hopper_forward in pairs at 64"
                : FLASHMOE_HEAD_DIM == 64     ? "hopper_forward at 64"
                                              : "hopper_forward at 128") +
        (kernels::hopper_forward::Visible::FLASHMOE_VISIBLE == kernels::hopper_forward::Visible::runs
             ? ", runs"
         : kernels::hopper_forward::Visible::FLASHMOE_VISIBLE == kernels::hopper_forward::Visible::lengths
             ? ", lengths"
         : kernels::hopper_forward::Visible::FLASHMOE_VISIBLE == kernels::hopper_forward::Visible::bits
             ? ", bits"
             : "") +
        (kernels::Change::FLASHMOE_CHANGE == kernels::Change::softcap  ? ", softcap"
         : kernels::Change::FLASHMOE_CHANGE == kernels::Change::slopes ? ", slopes"
         : kernels::Change::FLASHMOE_CHANGE == kernels::Change::bias   ? ", bias"
                                                                       : ""),
    FLASHMOE_FORM, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
