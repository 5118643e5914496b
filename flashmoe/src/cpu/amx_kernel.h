// SPDX-License-Identifier: MIT
// The bf16 kernel for x86_64 cores with AMX tiles (Sapphire Rapids and later).
#pragma once

#include "cpu/task.h"

namespace flashmoe::cpu {

// Null where this build, processor or operating system lacks what it needs. The first call asks the operating
// system to let this process use tiles.
const Kernel* amx_bf16_kernel();

namespace amx {
// Of the source file that is compiled for AVX-512: only to be called where amx_bf16_kernel() is not null.
void attend_bf16(const Task& task);
std::size_t scratch_bytes_bf16(const ForwardProblem& problem, int64_t rows);
}  // namespace amx

}  // namespace flashmoe::cpu
