// SPDX-License-Identifier: MIT
// A block of 32 x 32 threads brings a tile of A and one of B into shared memory, and reads each element 32
// times from there instead of from global memory.
constexpr int kTile = 32;

__global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float a_tile[kTile][kTile];
  __shared__ float b_tile[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y;
  const int column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int first = 0; first < K; first += kTile) {
    a_tile[y][x] = row < M && first + x < K ? A[row * K + first + x] : 0;
    b_tile[y][x] = first + y < K && column < N ? B[(first + y) * N + column] : 0;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += a_tile[y][k] * b_tile[k][x];
    __syncthreads();  // before the tiles are overwritten
  }
  if (row < M && column < N) C[row * N + column] = sum;
}
