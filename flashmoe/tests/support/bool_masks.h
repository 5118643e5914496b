// SPDX-License-Identifier: MIT
// Bool masks that exercise kernels which process tiles.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace flashmoe::test {

using Shown = std::function<bool(int64_t batch, int64_t head, int64_t row, int64_t key)>;

// Masks for tiles of `tile` keys: all, none, causal, window, documents, hidden rows and tiles, few keys.
inline std::vector<Shown> bool_masks(int64_t tile) {
  return {
      [](int64_t, int64_t, int64_t, int64_t) { return true; },
      [](int64_t, int64_t, int64_t, int64_t) { return false; },
      [](int64_t, int64_t, int64_t row, int64_t key) { return key <= row; },
      [=](int64_t, int64_t, int64_t row, int64_t key) { return key + tile >= row && key <= row + tile / 2; },
      [](int64_t, int64_t, int64_t row, int64_t key) { return row / 70 == key / 70; },
      [](int64_t, int64_t, int64_t row, int64_t key) { return row % 3 != 0 && (row / 64 != 1 || key > 90); },
      [=](int64_t, int64_t, int64_t row, int64_t key) { return (row / 64 + key / tile) % 2 == 0; },
      // The first rows see more keys than later ones; one key or row is hidden inside full tiles.
      [=](int64_t, int64_t, int64_t row, int64_t key) { return row < 64 || key < tile; },
      [=](int64_t, int64_t, int64_t row, int64_t key) { return row != 5 || key != tile + tile / 2; },
      [](int64_t, int64_t, int64_t row, int64_t key) { return (row * 31 + key * 17) % 97 == 0; },
  };
}

}  // namespace flashmoe::test
