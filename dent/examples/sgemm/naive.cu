// SPDX-License-Identifier: MIT
// C = A B, all row-major: one thread for each element of C. Neighbouring threads have neighbouring rows, so
// that a warp reads 32 rows of A at once and writes 32 rows of C.
__global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  const int column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= M || column >= N) return;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}
