// SPDX-License-Identifier: MIT
// y = 2 x, and then so many cycles of waiting: a kernel whose time can be set.
#pragma once

template <int Cycles>
__global__ void spin(int n, const float* x, float* y) {
  const long long start = clock64();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
  while (clock64() - start < Cycles) {
  }
}
