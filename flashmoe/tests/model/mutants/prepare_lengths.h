// SPDX-License-Identifier: MIT
// Included once per form, behind a copy of the kernel, with `prepare_lengths` defined as the copy's name. The
// scalar kernels then read what it leaves.

namespace flashmoe::test::FLASHMOE_MUTANT {

template <class Params>
void run(const Params& given) {
  const auto params = std::bit_cast<kernels::prepare_lengths::Params>(given);  // the same, by another name
  const kernels::prepare_lengths::Parts parts = kernels::prepare_lengths::parts_of(params);
  gpu::launch(&kernels::prepare_lengths::prepare_lengths,
              {.kernel = "mutant",
               .blocks = parts.lists + parts.q + parts.k,
               .threads = kernels::prepare_lengths::kThreads},
              params);
}

inline const Registration registration("prepare_lengths", FLASHMOE_FORM, decltype(Form::prepare){&run});

}  // namespace flashmoe::test::FLASHMOE_MUTANT
