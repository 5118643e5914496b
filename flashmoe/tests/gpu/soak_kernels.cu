// SPDX-License-Identifier: MIT
#include <algorithm>

#include "gpu/soak_kernels.h"

namespace flashmoe::test {
namespace {

__global__ void count(unsigned* words, const unsigned* expected, long long size, unsigned* differences) {
  unsigned wrong = 0;
  const long long step = static_cast<long long>(blockDim.x) * gridDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < size; i += step) {
    wrong += words[i] != expected[i] ? 1 : 0;
    words[i] = 0xFFFFFFFFU;
  }
  if (wrong != 0) atomicAdd(differences, wrong);
}

}  // namespace

void count_differences(unsigned* words, const unsigned* expected, long long size, unsigned* differences,
                       void* stream) {
  const auto blocks = static_cast<unsigned>(std::min(264LL, (size + 255) / 256));
  count<<<blocks, 256, 0, static_cast<cudaStream_t>(stream)>>>(words, expected, size, differences);
}

}  // namespace flashmoe::test
