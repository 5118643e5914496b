// SPDX-License-Identifier: MIT
// What the kernels of dent/benches/gpu_clock.py take, by nothing of dent's: a graph of many calls, each on
// memory of its own, replayed. JSON on stdout.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "spin.cuh"

namespace {

constexpr int kElements = 132 * 256;
constexpr int kSets = 1024;  // of 270 KB: several times the L2 cache
constexpr int kReplays = 41;

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
  std::exit(1);
}

template <int Cycles>
double microseconds(float* memory, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int s = 0; s < kSets; ++s) {
    float* x = memory + 2L * s * kElements;
    spin<Cycles><<<132, 256, 0, stream>>>(kElements, x, x + kElements);
  }
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&exec, graph, 0));
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> times(kReplays);
  for (int i = -5; i < kReplays; ++i) {
    check(cudaEventRecord(begin, stream));
    check(cudaGraphLaunch(exec, stream));
    check(cudaEventRecord(end, stream));
    check(cudaEventSynchronize(end));
    if (i >= 0) check(cudaEventElapsedTime(&times[i], begin, end));
  }
  check(cudaGraphExecDestroy(exec));
  check(cudaGraphDestroy(graph));
  std::sort(times.begin(), times.end());
  return 1e3 * times[kReplays / 2] / kSets;
}

}  // namespace

int main() {
  float* memory = nullptr;
  cudaStream_t stream;
  check(cudaMalloc(&memory, 2L * kSets * kElements * sizeof(float)));
  check(cudaMemset(memory, 0, 2L * kSets * kElements * sizeof(float)));
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::printf("{");
#define TELL(cycles, after) std::printf("\"%d\": %.4f%s", cycles, microseconds<cycles>(memory, stream), after)
  TELL(CYCLES_BASE, ", ");
  TELL(CYCLES_3, ", ");
  TELL(CYCLES_10, ", ");
  TELL(CYCLES_LONG, "}\n");
  return 0;
}
