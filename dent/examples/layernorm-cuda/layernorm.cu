// SPDX-License-Identifier: MIT
// The layer normalisation of a training program: a warp for each of N rows, so that its sums need no shared
// memory.
__device__ float sum_of_warp(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, step);
  return value;
}

__global__ void layernorm_forward(float* out, float* mean, float* rstd, const float* inp, const float* weight,
                                  const float* bias, int N, int C) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= N) return;  // a whole warp
  const float* x = inp + (long)row * C;
  float* y = out + (long)row * C;
  float sum = 0;
  for (int c = lane; c < C; c += 32) sum += x[c];
  const float m = sum_of_warp(sum) / C;
  float squares = 0;
  for (int c = lane; c < C; c += 32) squares += (x[c] - m) * (x[c] - m);
  const float s = rsqrtf(sum_of_warp(squares) / C + 1e-5f);
  for (int c = lane; c < C; c += 32) y[c] = (x[c] - m) * s * weight[c] + bias[c];
  if (lane == 0) {
    mean[row] = m;
    rstd[row] = s;
  }
}
