/* SPDX-License-Identifier: MIT
 * The loops in another order: the inner one walks along a row of B and of C, which the compiler makes vectors
 * of. */
#include <string.h>

void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
  memset(C, 0, sizeof(float) * M * N);
  for (int m = 0; m < M; ++m) {
    for (int k = 0; k < K; ++k) {
      const float a = A[m * K + k];
      for (int n = 0; n < N; ++n) C[m * N + n] += a * B[k * N + n];
    }
  }
}
