// SPDX-License-Identifier: MIT
// Kernels with one planted bottleneck each. dent must name it: live on a GPU, and in every test run from what
// Nsight Compute once said about them (dent/tests/diagnose/recorded). The results don't matter and nobody
// reads them.
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
  const char* expect;  // the bottleneck, as dent/src/diagnose/gpu.toml calls it
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
void atomic_sum(const Arena& arena);
void atomic_histogram(const Arena& arena);
void scattered_atomics(const Arena& arena);
void atomic_slots(const Arena& arena);
void shared_ranks(const Arena& arena);
void shared_float_sum(const Arena& arena);
void strided_stores(const Arena& arena);
void naive_transpose(const Arena& arena);
void struct_fields(const Arena& arena);
void vector_fields(const Arena& arena);
void random_gather(const Arena& arena);
void double_literals(const Arena& arena);
void double_sums(const Arena& arena);
void integer_hash(const Arena& arena);
void integer_division(const Arena& arena);
void divergent_switch(const Arena& arena);
void ragged_loop(const Arena& arena);
void tiny_ctas(const Arena& arena);
void huge_code(const Arena& arena);
void constant_table(const Arena& arena);
void shuffles(const Arena& arena);
void fences(const Arena& arena);
void sleepers(const Arena& arena);
void long_chain(const Arena& arena);
void naive_sgemm(const Arena& arena);
void tiled_sgemm(const Arena& arena);
void softmax_rows(const Arena& arena);
void tree_reduction(const Arena& arena);
void bodies(const Arena& arena);
void fractal(const Arena& arena);
void prefix_sum(const Arena& arena);
void local_array(const Arena& arena);
void byte_values(const Arena& arena);
void only_stores(const Arena& arena);
void slow_sines(const Arena& arena);
void few_warps_copy(const Arena& arena);

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
    {"atomic_sum", "atomics", atomic_sum},
    {"atomic_histogram", "atomics", atomic_histogram},
    {"scattered_atomics", "scattered_atomics", scattered_atomics},
    {"atomic_slots", "atomics", atomic_slots},
    {"shared_ranks", "shared_atomics", shared_ranks},
    {"shared_float_sum", "shared_atomics", shared_float_sum},
    {"strided_stores", "uncoalesced_stores", strided_stores},
    {"naive_transpose", "uncoalesced_stores", naive_transpose},
    {"struct_fields", "uncoalesced", struct_fields},
    {"vector_fields", "dram", vector_fields},
    {"random_gather", "uncoalesced", random_gather},
    {"double_literals", "fp64", double_literals},
    {"double_sums", "fp64", double_sums},
    {"integer_hash", "integer", integer_hash},
    {"integer_division", "conversion", integer_division},
    {"divergent_switch", "divergence", divergent_switch},
    {"ragged_loop", "divergence", ragged_loop},
    {"tiny_ctas", "partial_warps", tiny_ctas},
    {"huge_code", "instruction_cache", huge_code},
    {"constant_table", "constants", constant_table},
    {"shuffles", "l1", shuffles},
    {"fences", "fences", fences},
    {"sleepers", "waiting", sleepers},
    {"long_chain", "small_grid", long_chain},
    {"naive_sgemm", "l1", naive_sgemm},
    {"tiled_sgemm", "l1", tiled_sgemm},
    {"softmax_rows", "dram", softmax_rows},
    {"tree_reduction", "barrier", tree_reduction},
    {"bodies", "fma", bodies},
    {"fractal", "issue", fractal},
    {"prefix_sum", "barrier", prefix_sum},
    {"local_array", "spills", local_array},
    {"byte_values", "conversion", byte_values},
    {"only_stores", "dram", only_stores},
    {"slow_sines", "issue", slow_sines},
    {"few_warps_copy", "small_grid", few_warps_copy},
};

// Blocks for `waves` full waves when `per_sm` of them fit on an SM.
inline unsigned waves_of(const Arena& arena, int per_sm, int waves) {
  return static_cast<unsigned>(arena.sms * per_sm * waves);
}

}  // namespace bottlenecks
