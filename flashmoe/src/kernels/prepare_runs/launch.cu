// SPDX-License-Identifier: MIT
#include "kernels/prepare_runs/launch.h"

#include "kernels/prepare_runs/sequences.cuh"
#include "primitives/launch.h"

namespace flashmoe::kernels::prepare_runs::inline FLASHMOE_TARGET {

void launch(const Params& params, void* stream) {
  const auto row_blocks = static_cast<unsigned>((params.padded_rows + kRowThreads - 1) / kRowThreads);
  gpu::launch(&find_rows,
              {.kernel = "find_rows",
               .blocks = row_blocks * static_cast<unsigned>(params.entries),
               .threads = kRowThreads,
               .smem_bytes = sizeof(Smem),
               .stream = stream},
              params);
  if (params.keys == nullptr) return;
  const auto blocks = static_cast<unsigned>((params.padded_keys + kKeyThreads - 1) / kKeyThreads);
  gpu::launch(&find_keys,
              {.kernel = "find_keys",
               .blocks = blocks * static_cast<unsigned>(params.entries),
               .threads = kKeyThreads,
               .stream = stream},
              params);
}

void launch_sequences(const SequenceParams& params, void* stream) {
  if (params.documents != nullptr) {
    const auto blocks = static_cast<unsigned>((params.k.rows + kRowThreads - 1) / kRowThreads);
    gpu::launch(&find_documents,
                {.kernel = "find_documents",
                 .blocks = blocks * static_cast<unsigned>(params.document_entries),
                 .threads = kRowThreads,
                 .smem_bytes = sizeof(Smem),
                 .stream = stream},
                params);
  }
  const auto blocks_of = [](const prepare_lengths::Side& side) {
    return static_cast<unsigned>((int64_t{side.batch} * side.rows + kSequenceThreads - 1) / kSequenceThreads);
  };
  gpu::launch(&find_sequence_rows,
              {.kernel = "find_sequence_rows",
               .blocks = blocks_of(params.q),
               .threads = kSequenceThreads,
               .stream = stream},
              params);
  if (params.keys == nullptr) return;
  gpu::launch(&find_sequence_keys,
              {.kernel = "find_sequence_keys",
               .blocks = blocks_of(params.k),
               .threads = kSequenceThreads,
               .stream = stream},
              params);
}

}  // namespace flashmoe::kernels::prepare_runs::inline FLASHMOE_TARGET
