// SPDX-License-Identifier: MIT
// Random numbers by xoshiro256** (Blackman and Vigna), seeded by splitmix64.
#include "operators/fill.h"

#include <sys/random.h>

#include <bit>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace dent {

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) {
    seed += 0x9E3779B97F4A7C15U;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  return bound == 0 ? 0 : next() % bound;  // the bias is below 2^-30 for every bound in use
}

double Random::unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

void fill(const Fill& how, DType dtype, void* memory, std::size_t elements, std::uint64_t seed) {
  if (how.kind == Fill::Kind::python) return;
  if (how.kind == Fill::Kind::constant) {
    for (std::size_t i = 0; i < elements; ++i) store(dtype, memory, i, how.low);
    return;
  }
  Random random(seed);
  if (how.kind == Fill::Kind::normal) {
    for (std::size_t i = 0; i < elements; i += 2) {  // Box-Muller transform: two at a time
      const double radius = how.high * std::sqrt(-2 * std::log1p(-random.unit()));
      const double angle = 2 * std::numbers::pi * random.unit();
      store(dtype, memory, i, how.low + radius * std::cos(angle));
      if (i + 1 < elements) store(dtype, memory, i + 1, how.low + radius * std::sin(angle));
    }
    return;
  }
  const bool whole = how.kind == Fill::Kind::integers;
  const double width = how.high - how.low + (whole ? 1 : 0);
  for (std::size_t i = 0; i < elements; ++i) {
    const double value = how.low + width * random.unit();
    store(dtype, memory, i, whole ? std::floor(value) : value);
  }
}

std::uint64_t secret_seed() {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) {
    throw Error(ErrorCode::environment, "the operating system gave no random numbers (getrandom)");
  }
  return seed;
}

}  // namespace dent
