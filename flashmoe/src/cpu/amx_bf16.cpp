// SPDX-License-Identifier: MIT
// The AMX kernel on hardware tiles. Compiled for AVX-512 (CMakeLists.txt beside it): nothing here may run
// elsewhere.
#include "cpu/amx_attend-inl.h"
#include "cpu/amx_kernel.h"

static_assert(FLASHMOE_AMX_VECTORS, "compile this file with the options that CMakeLists.txt gives it");

namespace flashmoe::cpu::amx {

void attend_bf16(const Task& task) { attend<HardwareTiles>(task); }

std::size_t scratch_bytes_bf16(const ForwardProblem& problem, int64_t rows) {
  return scratch_bytes(problem, rows);
}

}  // namespace flashmoe::cpu::amx
