// SPDX-License-Identifier: MIT
// As naive.cu, with neighbouring threads in neighbouring columns: a warp reads one line of B, writes one line
// of C, and all of it reads the same element of A.
__global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M || column >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}
