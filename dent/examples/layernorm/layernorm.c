/* SPDX-License-Identifier: MIT
 * The layer normalisation of a training program in plain C: each of the B * T rows of `inp` gets mean 0 and
 * variance 1, then a weight and a bias for each channel. Mean and 1 / deviation are kept for the backward
 * pass. */
#include <math.h>

void layernorm_forward(float* out, float* mean, float* rstd, const float* inp, const float* weight,
                       const float* bias, int B, int T, int C) {
  const float epsilon = 1e-5f;
#pragma omp parallel for
  for (int row = 0; row < B * T; ++row) {
    const float* x = inp + (long)row * C;
    float* y = out + (long)row * C;
    float m = 0;
    for (int c = 0; c < C; ++c) m += x[c];
    m /= C;
    float variance = 0;
    for (int c = 0; c < C; ++c) variance += (x[c] - m) * (x[c] - m);
    const float s = 1 / sqrtf(variance / C + epsilon);
    for (int c = 0; c < C; ++c) y[c] = (x[c] - m) * s * weight[c] + bias[c];
    mean[row] = m;
    rstd[row] = s;
  }
}
