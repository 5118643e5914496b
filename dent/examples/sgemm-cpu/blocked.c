/* SPDX-License-Identifier: MIT
 * ROWS rows of C at a time, COLUMNS of their columns in registers: each number of B that is loaded is used
 * ROWS times. */
#ifndef ROWS
#define ROWS 4
#endif
#ifndef COLUMNS
#define COLUMNS 16
#endif

static int least(int a, int b) { return a < b ? a : b; }

void sgemm(const float* restrict A, const float* restrict B, float* restrict C, int M, int N, int K) {
  for (int m0 = 0; m0 < M; m0 += ROWS) {
    const int rows = least(ROWS, M - m0);
    for (int n0 = 0; n0 < N; n0 += COLUMNS) {
      const int columns = least(COLUMNS, N - n0);
      float sum[ROWS][COLUMNS] = {0};
      if (rows == ROWS && columns == COLUMNS) {
        for (int k = 0; k < K; ++k) {
          for (int i = 0; i < ROWS; ++i) {
            for (int j = 0; j < COLUMNS; ++j) sum[i][j] += A[(m0 + i) * K + k] * B[k * N + n0 + j];
          }
        }
      } else {
        for (int k = 0; k < K; ++k) {
          for (int i = 0; i < rows; ++i) {
            for (int j = 0; j < columns; ++j) sum[i][j] += A[(m0 + i) * K + k] * B[k * N + n0 + j];
          }
        }
      }
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) C[(m0 + i) * N + n0 + j] = sum[i][j];
      }
    }
  }
}
