// SPDX-License-Identifier: MIT
// y = softmax of each row of x, with the row's maximum and sum found in one pass.
#include <cmath>

void softmax(const float* x, float* y, int rows, int columns) {
  for (int row = 0; row < rows; ++row, x += columns, y += columns) {
    float largest = x[0];
    float sum = 0;
    for (int c = 0; c < columns; ++c) {
      if (x[c] > largest) {
        sum *= std::exp(largest - x[c]);
        largest = x[c];
      }
      sum += std::exp(x[c] - largest);
    }
    const float scale = 1 / sum;
    for (int c = 0; c < columns; ++c) y[c] = std::exp(x[c] - largest) * scale;
  }
}
