// SPDX-License-Identifier: MIT
// Included once per form, behind a copy of the kernel, with `small`, the kernel's namespace, defined as the
// copy's name.

namespace flashmoe::test::FLASHMOE_MUTANT {

template <int kIndex>
void start(const kernels::ForwardParams& params) {
  using S = kernels::small::Spec<fp16, kIndex, false>;
  const int rows = params.group * params.q_rows;
  gpu::launch(&kernels::small::small_forward<S>,
              {.kernel = "mutant",
               .blocks = static_cast<unsigned>((rows + kernels::small::kRows - 1) / kernels::small::kRows),
               .blocks_y = static_cast<unsigned>(params.order.batch * params.order.heads),
               .threads = S::tuning.threads(),
               .smem_bytes = S::tuning.smem_bytes(),
               .programmatic = true},
              kernels::small::AnyParams(params, true));
}

inline void run(const kernels::ForwardParams& params, const kernels::Runs&, bool, int, unsigned) {
  // The general forms: for up to 64 keys, where partial outputs take the place of V too, and up to 128.
  params.head_dim <= 64 ? start<kernels::small::find_tuning(64, 64, 1 << 20)>(params)
                        : start<kernels::small::find_tuning(128, 128, 1 << 20)>(params);
}

inline const Registration registration("small_forward", FLASHMOE_FORM, &run);

}  // namespace flashmoe::test::FLASHMOE_MUTANT
