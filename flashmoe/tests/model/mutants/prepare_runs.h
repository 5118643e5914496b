// SPDX-License-Identifier: MIT
// Included once per form, behind a copy of the kernel, with `prepare_runs` defined as the copy's name. The
// general forms then read what it leaves.

namespace flashmoe::test::FLASHMOE_MUTANT {

template <class Params>
void run(const Params& given) {
  namespace prepare = kernels::prepare_runs;
  const auto params = std::bit_cast<prepare::SequenceParams>(given);  // the same, by another name
  const auto launch = [&](auto* kernel, int64_t count, int64_t entries, int threads, int smem_bytes) {
    gpu::launch(kernel,
                {.kernel = "mutant",
                 .blocks = static_cast<unsigned>((count + threads - 1) / threads * entries),
                 .threads = threads,
                 .smem_bytes = smem_bytes},
                params);
  };
  if (params.documents != nullptr)
    launch(&prepare::find_documents, params.k.rows, params.document_entries, prepare::kRowThreads,
           sizeof(prepare::Smem));
  launch(&prepare::find_sequence_rows, int64_t{params.q.batch} * params.q.rows, 1, prepare::kSequenceThreads,
         0);
  if (params.keys == nullptr) return;
  launch(&prepare::find_sequence_keys, int64_t{params.k.batch} * params.k.rows, 1, prepare::kSequenceThreads,
         0);
}

inline const Registration registration("prepare_runs", FLASHMOE_FORM, decltype(Form::prepare_rows){&run});

}  // namespace flashmoe::test::FLASHMOE_MUTANT
