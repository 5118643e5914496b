// SPDX-License-Identifier: MIT
// bottlenecks NAME...   launches each of these kernels once, in this order, between profiler start and stop
// bottlenecks --all     the same for every kernel
// bottlenecks --list    name and planted bottleneck, a line each
// bottlenecks --time    milliseconds of each, without a profiler
#include <cuda_profiler_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "bottlenecks/planted.h"

namespace {

using namespace bottlenecks;

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(status));
  std::exit(1);
}

// Numbers in [0.5, 1) that read well as fp32 and, in pairs, as bf16.
__global__ void fill(unsigned* words, size_t count) {
  const size_t stride = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x; i < count; i += stride) {
    const unsigned half = 0x3F00U | ((static_cast<unsigned>(i) * 2654435761U >> 20) & 0x7FU);
    words[i] = half << 16 | half;
  }
}

Arena make_arena() {
  Arena arena{};
  check(cudaDeviceGetAttribute(&arena.sms, cudaDevAttrMultiProcessorCount, 0), "cudaDeviceGetAttribute");
  check(cudaMalloc(&arena.in, Arena::kBytes), "cudaMalloc");
  check(cudaMalloc(&arena.out, Arena::kBytes), "cudaMalloc");
  fill<<<1024, 256>>>(reinterpret_cast<unsigned*>(arena.in), Arena::kBytes / 4);
  check(cudaDeviceSynchronize(), "fill");
  return arena;
}

void run(const Planted& planted, const Arena& arena) {
  check(cudaProfilerStart(), "cudaProfilerStart");  // as dent's worker does: ncu --profile-from-start off
  planted.launch(arena);
  check(cudaGetLastError(), planted.name);
  check(cudaProfilerStop(), "cudaProfilerStop");
  check(cudaDeviceSynchronize(), planted.name);
}

float milliseconds(const Planted& planted, const Arena& arena) {
  cudaEvent_t begin{}, end{};
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  run(planted, arena);
  check(cudaEventRecord(begin), "cudaEventRecord");
  planted.launch(arena);
  check(cudaEventRecord(end), "cudaEventRecord");
  check(cudaEventSynchronize(end), planted.name);
  float ms = 0;
  check(cudaEventElapsedTime(&ms, begin, end), "cudaEventElapsedTime");
  return ms;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const Planted& planted : kPlanted) std::printf("%s %s\n", planted.name, planted.expect);
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "--time") == 0) {
    const Arena arena = make_arena();
    for (const Planted& planted : kPlanted)
      std::printf("%s %.4f\n", planted.name, milliseconds(planted, arena));
    return 0;
  }
  std::vector<const Planted*> chosen;
  for (int i = 1; i < argc; ++i) {
    const std::size_t before = chosen.size();
    for (const Planted& planted : kPlanted) {
      if (std::strcmp(argv[i], planted.name) == 0 || std::strcmp(argv[i], "--all") == 0)
        chosen.push_back(&planted);
    }
    if (chosen.size() == before) {
      std::fprintf(stderr, "bottlenecks: there is no kernel \"%s\"; --list names them\n", argv[i]);
      return 2;
    }
  }
  if (chosen.empty()) {
    std::fprintf(stderr, "usage: bottlenecks NAME... | --all | --list | --time\n");
    return 2;
  }
  const Arena arena = make_arena();
  for (const Planted* planted : chosen) run(*planted, arena);
  return 0;
}
