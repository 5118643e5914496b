// SPDX-License-Identifier: MIT
// Included once per form, behind a copy of the kernel, with `combine_splits` defined as the copy's name.
// What it combines comes from ampere_forward as it is.

namespace flashmoe::test::FLASHMOE_MUTANT {

inline void run(const kernels::ForwardParams& params, const kernels::Runs&, bool aligned, int,
                unsigned blocks) {
  kernels::ampere_forward::launch(DType::fp16, aligned, params, blocks, nullptr);
  const auto rows = static_cast<unsigned>(params.order.batch * params.q_heads * params.q_rows);
  constexpr int kWarps = kernels::combine_splits::kWarps;
  gpu::launch(&kernels::combine_splits::combine_splits<fp16, 4>,
              {.kernel = "mutant", .blocks = (rows + kWarps - 1) / kWarps, .threads = 32 * kWarps}, params,
              128);
}

inline const Registration registration("combine_splits", FLASHMOE_FORM, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
