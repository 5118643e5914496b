// SPDX-License-Identifier: MIT
// Compiled once per mutant, with `naive` defined as the mutant's own name.
#include "kernels/naive/kernel.cuh"
#include "model/mutants/registry.h"
#include "primitives/launch.h"

namespace flashmoe::test {
namespace {

void run(const kernels::ForwardParams& params, bool, int, unsigned blocks) {
  gpu::launch(&kernels::naive::naive_forward<kernels::naive::Spec<fp16, 128>>,
              {.kernel = "mutant",
               .blocks = blocks,
               .threads = kernels::naive::kThreads,
               .smem_bytes = sizeof(kernels::naive::Smem)},
              params);
}

const Registration registration("naive", FLASHMOE_MISTAKE, &run);

}  // namespace
}  // namespace flashmoe::test
