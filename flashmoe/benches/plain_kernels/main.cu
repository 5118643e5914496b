// SPDX-License-Identifier: MIT
// Plain kernels of many kinds, timed on the GPU at hand beside what `dent predict kernel` is told of each:
// what dent/docs/predict.md judges the prediction by.
//
//   nvcc -O3 -std=c++20 -gencode arch=compute_90a,code=sm_90a flashmoe/benches/plain_kernels/main.cu -o
//   plain_kernels plain_kernels --list          names, one a line plain_kernels NAME            JSON, one
//   line for each size scripts/plain-kernels > flashmoe/docs/results/plain_kernels_h200.json       all of
//   them, a process for each
//
// A time is that of a CUDA graph of calls, replayed, over their number: what launches cost the host is not in
// it, what they cost the GPU is. cold: calls in a row have memory of their own, so much that none is in the
// L2 cache; warm: all have the same, where it fits.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "case.h"
#include "products.cuh"
#include "rows.cuh"
#include "scattered.cuh"
#include "streaming.cuh"
#include "tiles.cuh"

namespace plain {
namespace {

constexpr int kReplays = 15;
constexpr double kWarmUpMs = 25, kGraphUs = 400;
constexpr int kMostCalls = 512;

void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(status));
}
#define CHECK(call) check(call, #call)

__device__ unsigned hashed(unsigned x) {
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  return x ^ (x >> 16);
}

__global__ void draw_floats(float* out, std::size_t count, unsigned seed) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    out[i] = static_cast<float>(hashed(static_cast<unsigned>(i) + seed)) * 0x1p-32F;
  }
}

__global__ void draw_halves(half* out, std::size_t count, unsigned seed) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    out[i] = __float2half(static_cast<float>(hashed(static_cast<unsigned>(i) + seed)) * 0x1p-32F - 0.5F);
  }
}

__global__ void draw_indices(int* out, std::size_t count, unsigned seed, unsigned below) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    out[i] = static_cast<int>(__umulhi(hashed(static_cast<unsigned>(i) + seed), below));
  }
}

__global__ void count_poison(const unsigned* out, std::size_t count, unsigned long long* found) {
  unsigned long long mine = 0;
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    mine += out[i] == ~0U ? 1 : 0;
  }
  atomicAdd(found, mine);
}

// The memory of all sets of a case, with values in it.
class Arena {
 public:
  Arena(const Memory& memory, int sets) : memory_(memory), sets_(sets) {
    const auto rounded = [](std::size_t bytes) { return (bytes + 255) / 256 * 256; };
    b_at_ = rounded(memory.a);
    out_at_ = b_at_ + rounded(memory.b);
    stride_ = out_at_ + rounded(memory.out);
    CHECK(cudaMalloc(&data_, stride_ * sets));
    for (int s = 0; s < sets; ++s) {
      draw(at(s), memory.a, 0, static_cast<unsigned>(2 * s + 1));
      draw(at(s) + b_at_, memory.b, memory.indices_below, static_cast<unsigned>(2 * s + 2));
    }
    CHECK(cudaMemset(at(0) + out_at_, 0xff, memory.out));
    CHECK(cudaDeviceSynchronize());
  }
  ~Arena() { cudaFree(data_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Set set(int s) const { return {at(s), at(s) + b_at_, at(s) + out_at_}; }
  std::size_t bytes() const { return stride_ * sets_; }

  // Of the first set, the share of words that were never written.
  double unwritten() const {
    unsigned long long* found = nullptr;
    CHECK(cudaMalloc(&found, sizeof *found));
    CHECK(cudaMemset(found, 0, sizeof *found));
    count_poison<<<264, 256>>>(reinterpret_cast<const unsigned*>(at(0) + out_at_), memory_.out / 4, found);
    unsigned long long count = 0;
    CHECK(cudaMemcpy(&count, found, sizeof count, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(found));
    return static_cast<double>(count) / (static_cast<double>(memory_.out) / 4);
  }

 private:
  std::byte* at(int s) const { return data_ + stride_ * static_cast<std::size_t>(s); }
  void draw(std::byte* to, std::size_t bytes, int below, unsigned seed) const {
    if (bytes == 0) return;
    if (below > 0) {
      draw_indices<<<264, 256>>>(reinterpret_cast<int*>(to), bytes / 4, seed * 77777U, below);
    } else if (memory_.values == Values::halves) {
      draw_halves<<<264, 256>>>(reinterpret_cast<half*>(to), bytes / 2, seed * 77777U);
    } else {
      draw_floats<<<264, 256>>>(reinterpret_cast<float*>(to), bytes / 4, seed * 77777U);
    }
    CHECK(cudaGetLastError());
  }

  Memory memory_;
  int sets_;
  std::size_t b_at_ = 0, out_at_ = 0, stride_ = 0;
  std::byte* data_ = nullptr;
};

struct Times {
  double median_us = 0, least_us = 0, most_us = 0;
  int calls = 0;  // in a graph
};

// `calls` calls as one graph, on sets in turn.
Times replay(const Case& c, const Arena& arena, int sets, int calls, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < calls; ++i) c.launch(arena.set(i % sets), stream);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<double> times;
  double warm_up_ms = 0;
  while (times.size() < kReplays) {
    CHECK(cudaEventRecord(begin, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    if (warm_up_ms < kWarmUpMs) {
      warm_up_ms += std::max(0.05F, ms);
    } else {
      times.push_back(1e3 * ms / calls);
    }
  }
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front(), times.back(), calls};
}

// So many calls that what the graph itself costs is spread thin.
Times measure(const Case& c, const Arena& arena, int sets, cudaStream_t stream) {
  const double once = replay(c, arena, sets, sets, stream).median_us;
  const int rounds = static_cast<int>(kGraphUs / once / sets) + 1;
  return replay(c, arena, sets, std::clamp(rounds * sets, sets, std::max(sets, kMostCalls)), stream);
}

void print(const Case& c, const char* cache, const Times& times, double unwritten) {
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, c.function));
  const auto count = [](const dim3& d) { return static_cast<long long>(d.x) * d.y * d.z; };
  const Work& w = c.work;
  std::printf(
      "{\"kernel\": \"%s\", \"size\": \"%s\", \"cache\": \"%s\", \"ctas\": %lld, \"threads\": %lld, "
      "\"registers\": %d, \"smem_bytes\": %zu, \"bytes\": %.0f, \"l2_bytes\": %.0f, \"l1_bytes\": %.0f, "
      "\"flops\": %.0f, \"matrix_flops\": %.0f, \"exps\": %.0f, \"trips\": %.6g, \"barriers\": %.6g, "
      "\"calls\": %d, \"median_us\": %.4f, \"least_us\": %.4f, \"most_us\": %.4f, \"unwritten\": %.3g}\n",
      c.kernel.c_str(), c.size.c_str(), cache, count(c.grid), count(c.block), attributes.numRegs,
      attributes.sharedSizeBytes, w.bytes, w.l2_bytes, w.l1_bytes, w.flops, w.matrix_flops, w.exps, w.trips,
      w.barriers, times.calls, times.median_us, times.least_us, times.most_us, unwritten);
  std::fflush(stdout);
}

void time_case(const Case& c, int l2_bytes, cudaStream_t stream) {
  const std::size_t bytes = c.memory.a + c.memory.b + c.memory.out;
  const std::size_t enough = 3 * static_cast<std::size_t>(l2_bytes);
  const int sets = static_cast<int>(std::clamp<std::size_t>(enough / bytes + 1, 2, kMostCalls));
  const Arena arena(c.memory, sets);
  c.launch(arena.set(0), stream);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(stream));
  const double unwritten = arena.unwritten();
  if (arena.bytes() > 2 * static_cast<std::size_t>(l2_bytes)) {
    print(c, "cold", measure(c, arena, sets, stream), unwritten);
  }
  if (bytes < static_cast<std::size_t>(l2_bytes) / 2)
    print(c, "warm", measure(c, arena, 1, stream), unwritten);
}

Cases all_cases() {
  Cases all;
  add_streaming(all);
  add_tiles(all);
  add_sums(all);
  add_rows(all);
  add_scattered(all);
  add_products(all);
  return all;
}

void describe_device() {
  cudaDeviceProp gpu;
  int runtime = 0, driver = 0;
  CHECK(cudaGetDeviceProperties(&gpu, 0));
  CHECK(cudaRuntimeGetVersion(&runtime));
  CHECK(cudaDriverGetVersion(&driver));
  std::printf("{\"device\": \"%s\", \"sms\": %d, \"l2_bytes\": %d, \"runtime\": %d, \"driver\": %d}\n",
              gpu.name, gpu.multiProcessorCount, gpu.l2CacheSize, runtime, driver);
}

int run(int count, char** words) {
  const Cases all = all_cases();
  const std::string word = count == 2 ? words[1] : "";
  if (word.empty()) {
    std::fprintf(stderr, "usage: plain_kernels --list | --device | NAME\n");
    return 2;
  }
  if (word == "--list") {
    std::vector<std::string> told;
    for (const Case& c : all) {
      if (std::find(told.begin(), told.end(), c.kernel) == told.end()) told.push_back(c.kernel);
    }
    for (const std::string& name : told) std::puts(name.c_str());
    return 0;
  }
  if (word == "--device") {
    describe_device();
    return 0;
  }
  int l2_bytes = 0;
  CHECK(cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, 0));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (const Case& c : all) {
    if (c.kernel == word) time_case(c, l2_bytes, stream);
  }
  CHECK(cudaStreamDestroy(stream));
  return 0;
}

}  // namespace
}  // namespace plain

int main(int count, char** words) {
  try {
    return plain::run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
