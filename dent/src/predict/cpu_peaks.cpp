// SPDX-License-Identifier: MIT
// Measures multiply-adds in registers and reads of memory, on all cores at once. Compiled for each kind of
// vector unit; the machine's own kind is chosen at run time.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "predict/cpu_peaks.h"

namespace dent {
namespace {

constexpr int kRounds = 400'000;
constexpr std::size_t kReadBytes = std::size_t{64}
                                   << 20;  // more than all caches hold, for all threads together
constexpr int kReads = 3;
thread_local volatile float sink;  // keeps results alive that are not used

// kAccumulators independent sums hide the latency of the pipes. Returns the number of floating-point
// operations.
template <int kVectorBytes, int kAccumulators>
[[gnu::always_inline]] inline double multiply_add(float seed) {
  using Vector [[gnu::vector_size(kVectorBytes)]] = float;
  const Vector factors[2] = {Vector{} + seed, Vector{} + seed};
  Vector sum[kAccumulators];
#pragma GCC unroll 32
  for (int i = 0; i < kAccumulators; ++i) sum[i] = Vector{} + seed * static_cast<float>(i);
  for (int round = 0; round < kRounds; ++round) {
    asm volatile("" : : "r"(factors) : "memory");  // the compiler must assume that the factors changed
    const Vector a = factors[0], b = factors[1];
#pragma GCC unroll 32
    for (int i = 0; i < kAccumulators; ++i) sum[i] += a * b;
  }
  float total = 0;
#pragma GCC unroll 32
  for (int i = 0; i < kAccumulators; ++i) {
    for (std::size_t lane = 0; lane < kVectorBytes / sizeof(float); ++lane) total += sum[i][lane];
  }
  sink = total;
  return 2.0 * kRounds * kAccumulators * (kVectorBytes / sizeof(float));
}

double plain(float seed) { return multiply_add<16, 24>(seed); }
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] double with_avx2(float seed) { return multiply_add<32, 12>(seed); }
[[gnu::target("avx512f")]] double with_avx512(float seed) { return multiply_add<64, 16>(seed); }
#endif

double (*best_loop())(float) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return with_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return with_avx2;
#endif
  return plain;
}

// Processor time of the calling thread, so that other programs don't lower the measured peak.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double on_all_cores(const std::function<double(unsigned, unsigned)>& measure) {
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<double> rates(cores);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < cores; ++i) threads.emplace_back([&, i] { rates[i] = measure(i, cores); });
  for (auto& thread : threads) thread.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

double gflops_of_one_core() {
  double best = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const double start = thread_seconds();
    const double operations = best_loop()(1e-3f);
    best = std::max(best, operations / (thread_seconds() - start) / 1e9);
  }
  return best;
}

double gbs_of_one_core(const std::vector<std::uint64_t>& memory, unsigned core, unsigned cores) {
  const std::size_t part = memory.size() / cores;
  double best = 0;
  for (int attempt = 0; attempt < kReads; ++attempt) {
    const double start = thread_seconds();
    std::uint64_t sums[8] = {};
    for (std::size_t i = core * part; i + 8 <= (core + 1) * part; i += 8) {
      for (std::size_t j = 0; j < 8; ++j) sums[j] += memory[i + j];
    }
    for (const auto& sum : sums) asm volatile("" : : "r"(sum));
    best =
        std::max(best, static_cast<double>(part * sizeof(std::uint64_t)) / (thread_seconds() - start) / 1e9);
  }
  return best;
}

}  // namespace

Peaks cpu_peaks(const std::string& name) {
  const std::vector<std::uint64_t> memory(kReadBytes / sizeof(std::uint64_t), 1);
  return {name, on_all_cores([](unsigned, unsigned) { return gflops_of_one_core(); }),
          on_all_cores([&](unsigned core, unsigned cores) { return gbs_of_one_core(memory, core, cores); }),
          PeakSource::measured};
}

}  // namespace dent
