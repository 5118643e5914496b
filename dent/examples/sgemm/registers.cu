// SPDX-License-Identifier: MIT
// Each thread keeps kRows x kColumns elements of C in registers: for kRows + kColumns numbers that it reads
// from shared memory it does kRows * kColumns multiplications. A block has a tile of kTileM x kTileN
// elements.
template <int kTileM, int kTileN, int kTileK, int kRows, int kColumns>
__global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
  constexpr int kAcross = kTileN / kColumns;  // threads beside each other
  constexpr int kThreads = kTileM / kRows * kAcross;
  __shared__ float a_tile[kTileK][kTileM + 1];  // transposed, so that a thread's rows lie side by side
  __shared__ float b_tile[kTileK][kTileN];
  const int thread = threadIdx.x;
  const int row = thread / kAcross * kRows, column = thread % kAcross * kColumns;  // in the tile
  const int tile_row = blockIdx.y * kTileM, tile_column = blockIdx.x * kTileN;
  float sum[kRows][kColumns] = {};
  for (int first = 0; first < K; first += kTileK) {
    for (int i = thread; i < kTileM * kTileK; i += kThreads) {
      const int m = i / kTileK, k = i % kTileK;
      const bool there = tile_row + m < M && first + k < K;
      a_tile[k][m] = there ? A[(tile_row + m) * K + first + k] : 0;
    }
    for (int i = thread; i < kTileK * kTileN; i += kThreads) {
      const int k = i / kTileN, n = i % kTileN;
      const bool there = first + k < K && tile_column + n < N;
      b_tile[k][n] = there ? B[(first + k) * N + tile_column + n] : 0;
    }
    __syncthreads();
    for (int k = 0; k < kTileK; ++k) {
      float a[kRows], b[kColumns];
      for (int i = 0; i < kRows; ++i) a[i] = a_tile[k][row + i];
      for (int j = 0; j < kColumns; ++j) b[j] = b_tile[k][column + j];
      for (int i = 0; i < kRows; ++i) {
        for (int j = 0; j < kColumns; ++j) sum[i][j] += a[i] * b[j];
      }
    }
    __syncthreads();  // before the tiles are overwritten
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      const int m = tile_row + row + i, n = tile_column + column + j;
      if (m < M && n < N) C[m * N + n] = sum[i][j];
    }
  }
}
