// SPDX-License-Identifier: MIT
// Kernels with one planted bottleneck each. dent must name it: live on a GPU, and in every test run from what
// Nsight Compute once said about them (tests/diagnose/recorded). The results don't matter and nobody reads
// them.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace bottlenecks {

struct Arena {
  static constexpr std::size_t kBytes = std::size_t{256} << 20;  // of each; several times any L2 cache
  float* in;                                                     // numbers between 0 and 1
  float* out;
  int sms;
};

struct Planted {
  const char* name;    // its kernel is called planted_<name>
  const char* expect;  // the bottleneck, as workbench/diagnose/tree.toml calls it
  void (*launch)(const Arena& arena);
};

void two_ctas(const Arena& arena);
void wave_tail(const Arena& arena);
void uneven_work(const Arena& arena);
void launch_bound(const Arena& arena);
void tensor_gemm(const Arena& arena);
void exp_bound(const Arena& arena);
void fma_bound(const Arena& arena);
void dram_copy(const Arena& arena);
void l2_reads(const Arena& arena);
void shared_reads(const Arena& arena);
void strided_loads(const Arena& arena);
void row_per_thread(const Arena& arena);
void bank_conflicts(const Arena& arena);
void spills(const Arena& arena);
void registers_limit(const Arena& arena);
void shared_memory_limits(const Arena& arena);
void pointer_chase(const Arena& arena);
void barrier_heavy(const Arena& arena);

inline constexpr Planted kPlanted[] = {
    {"two_ctas", "few_ctas", two_ctas},
    {"wave_tail", "tail", wave_tail},
    {"uneven_work", "tail", uneven_work},
    {"launch_bound", "launch", launch_bound},
    {"tensor_gemm", "tensor", tensor_gemm},
    {"exp_bound", "exp", exp_bound},
    {"fma_bound", "fma", fma_bound},
    {"dram_copy", "dram", dram_copy},
    {"l2_reads", "l2", l2_reads},
    {"shared_reads", "l1", shared_reads},
    {"strided_loads", "uncoalesced", strided_loads},
    {"row_per_thread", "uncoalesced", row_per_thread},
    {"bank_conflicts", "bank_conflicts", bank_conflicts},
    {"spills", "spills", spills},
    {"registers_limit", "occupancy", registers_limit},
    {"shared_memory_limits", "occupancy", shared_memory_limits},
    {"pointer_chase", "memory_latency", pointer_chase},
    {"barrier_heavy", "barrier", barrier_heavy},
};

// Blocks for `waves` full waves when `per_sm` of them fit on an SM.
inline unsigned waves_of(const Arena& arena, int per_sm, int waves) {
  return static_cast<unsigned>(arena.sms * per_sm * waves);
}

}  // namespace bottlenecks
