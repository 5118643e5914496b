// SPDX-License-Identifier: MIT
// A simulated machine with known true times, and noise like that of real timings, from a seed.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "measure/sample.h"

namespace dent::test {

struct NoiseShape {
  double sigma = 0.02;       // of the basic noise, in logarithms
  double correlation = 0.0;  // correlation of consecutive noise values (AR(1))
  double spikes = 0.02;      // share of interrupted samples; an interruption only adds time
  double spike_size = 0.3;   // mean duration of an interruption, as a share of the time
};

class Noise {
 public:
  Noise(NoiseShape shape, std::uint64_t seed) : shape_(shape), random_(seed), state_(normal_(random_)) {}

  // A factor around 1 with median 1 and a long right tail.
  double next() {
    const double phi = shape_.correlation;
    state_ = phi * state_ + std::sqrt(1 - phi * phi) * normal_(random_);
    double factor = std::exp(shape_.sigma * state_);
    if (uniform_(random_) < shape_.spikes) factor *= 1 + shape_.spike_size * exponential_(random_);
    return factor;
  }

 private:
  NoiseShape shape_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::exponential_distribution<double> exponential_;
  double state_;
};

// Pairs whose baseline takes 1,000 ns and whose candidate is `speedup` times as fast.
inline std::vector<Pair> simulated_pairs(int count, double speedup, NoiseShape shape, std::uint64_t seed) {
  Noise noise(shape, seed);
  std::vector<Pair> pairs(static_cast<std::size_t>(count));
  for (Pair& pair : pairs) {
    pair.baseline.ns = 1000 * noise.next();
    pair.candidate.ns = 1000 / speedup * noise.next();
  }
  return pairs;
}

}  // namespace dent::test
