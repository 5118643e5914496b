// SPDX-License-Identifier: MIT
// Random choices for sweeps; equal seeds give equal choices.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include "flashmoe/attention.h"

namespace flashmoe::test {

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}

  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  template <class T, std::size_t n>
  T one_of(const T (&choices)[n]) {
    return choices[between(0, n - 1)];
  }
  // Small sizes are likely; a third are next to a power of two, where tiles end.
  int64_t length(int64_t most) {
    if (between(0, 2) == 0)
      return std::clamp<int64_t>((int64_t{1} << between(0, 11)) + between(-1, 1), 1, most);
    return between(1, most >> between(0, 5) | 1);
  }
  // Contents of hidden keys, for Shape::hidden. Half of the choices leave them random.
  std::optional<float> hidden() {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return one_of({std::optional<float>(), std::optional<float>(), std::optional(std::nanf("")),
                   std::optional(kInfinity)});
  }
  // For GPU kernels, which multiply whole tiles: keys hidden from some rows of a tile must be finite.
  std::optional<float> hidden_but_finite() { return one_of({std::optional<float>(), std::optional(6e4F)}); }
  // Half of the choices have no window; otherwise a side is short, about as long as the keys, or unlimited.
  Window window(int64_t keys) {
    if (between(0, 1) == 0) return {};
    const auto side = [&] {
      switch (between(0, 3)) {
        case 0:
          return Window::kUnlimited;
        case 1:
          return between(0, 3);
        case 2:
          return between(std::max<int64_t>(keys - 2, 0), keys + 2);
        default:
          return between(0, keys);
      }
    };
    const int64_t left = side();
    return {left, side()};
  }

 private:
  std::mt19937_64 random_;
};

// A number from an environment variable, to make sweeps longer or shorter than usual.
inline uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

}  // namespace flashmoe::test
