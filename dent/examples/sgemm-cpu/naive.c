/* SPDX-License-Identifier: MIT
 * C = A B, all row-major: one element of C after the other. The inner loop walks down a column of B. */
void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
  for (int m = 0; m < M; ++m) {
    for (int n = 0; n < N; ++n) {
      float sum = 0;
      for (int k = 0; k < K; ++k) sum += A[m * K + k] * B[k * N + n];
      C[m * N + n] = sum;
    }
  }
}
