// SPDX-License-Identifier: MIT
// The machine's fp32 FMA rate, measured: what share of it a kernel reaches is the honest figure for that
// kernel. Independent accumulators in registers, no memory traffic; built for the machine that it runs on.
//
//   fma_peak [threads]     prints one line of JSON: the rate of one thread, and of all of them at once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <thread>
#include <vector>

namespace {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
using Vector = float __attribute__((vector_size(kVectorBytes)));
constexpr int kLanes = kVectorBytes / sizeof(float);
constexpr int64_t kFmas = 48'000'000;  // per thread and try

// kFmas multiply-adds. The factors are loaded anew in each round: the compiler can't compute their product
// ahead, and cores that tie an accumulator to a pipe spread them better (Neoverse-V1 stays at half its rate
// without the loads).
template <int kAccumulators>
float multiply_add(float seed) {
  const Vector factors[2] = {Vector{} + seed, Vector{} + seed};
  Vector sum[kAccumulators];
#pragma GCC unroll 32
  for (int i = 0; i < kAccumulators; ++i) sum[i] = Vector{} + seed * static_cast<float>(i);
  for (int64_t round = 0; round < kFmas / kAccumulators; ++round) {
    asm volatile("" : : "r"(factors) : "memory");
    const Vector a = factors[0];
    const Vector b = factors[1];
#pragma GCC unroll 32
    for (int i = 0; i < kAccumulators; ++i) sum[i] += a * b;
  }
  float total = 0;
#pragma GCC unroll 32
  for (int i = 0; i < kAccumulators; ++i) {
    for (int lane = 0; lane < kLanes; ++lane) total += sum[i][lane];
  }
  return total;
}

// 8 hide the latency of two pipes, 12 fit the registers of AVX2, 16 and 24 those of AVX-512 and NEON.
using Loop = float (*)(float);
constexpr std::array<Loop, 4> kLoops{multiply_add<8>, multiply_add<12>, multiply_add<16>, multiply_add<24>};

// Processor time of the calling thread: other programs' work does not lower the ceiling.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// GFLOP/s of `threads` threads that run `loop` at the same time.
double gflops(Loop loop, int threads) {
  std::atomic<int> waiting{threads};
  std::atomic<float> sink{0};
  std::vector<double> rate(static_cast<std::size_t>(threads));
  std::vector<std::thread> pool;
  for (double& mine : rate) {
    pool.emplace_back([&] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      const double start = thread_seconds();
      sink = loop(1e-3F);
      mine = 2.0 * kLanes * kFmas / 1e9 / (thread_seconds() - start);
    });
  }
  for (std::thread& thread : pool) thread.join();
  return std::accumulate(rate.begin(), rate.end(), 0.0);
}

// The best of all loops and several tries each: a ceiling is asked for.
double peak_gflops(int threads) {
  double best = 0;
  for (int attempt = 0; attempt < 4; ++attempt) {
    for (Loop loop : kLoops) best = std::max(best, gflops(loop, threads));
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : static_cast<int>(std::thread::hardware_concurrency());
  if (threads < 1) {
    std::fprintf(stderr, "fma_peak: threads is %s; accepted are 1 and above\n",
                 argc > 1 ? argv[1] : "unknown");
    return 1;
  }
  std::printf("{\"vector_bits\": %d, \"threads\": %d, \"gflops_one_thread\": %.1f, \"gflops\": %.1f}\n",
              kVectorBytes * 8, threads, peak_gflops(1), peak_gflops(threads));
}
