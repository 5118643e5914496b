// SPDX-License-Identifier: MIT
// Which weights dropout leaves out. A pair's fate depends on the seed and on where the pair stands, and on
// nothing else: every kernel, forward and backward, finds the same pairs in any order.
#pragma once

#include <cmath>
#include <cstdint>

#include "numeric/host_device.h"

namespace flashmoe {

// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"): a block cipher of a counter.
struct Philox {
  uint32_t word[4];

  FLASHMOE_HD Philox(uint64_t seed, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3)
      : word{c0, c1, c2, c3} {
    auto key0 = static_cast<uint32_t>(seed);
    auto key1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64_t even = uint64_t{0xD2511F53U} * word[0];
      const uint64_t odd = uint64_t{0xCD9E8D57U} * word[2];
      const uint32_t next0 = static_cast<uint32_t>(odd >> 32) ^ word[1] ^ key0;
      const uint32_t next2 = static_cast<uint32_t>(even >> 32) ^ word[3] ^ key1;
      word[0] = next0;
      word[1] = static_cast<uint32_t>(odd);
      word[2] = next2;
      word[3] = static_cast<uint32_t>(even);
      key0 += 0x9E3779B9U;
      key1 += 0xBB67AE85U;
    }
  }
};

// Keys 8 i .. 8 i + 7 of a row share one number of 128 bits, 16 for each.
class PairDropout {
 public:
  static constexpr int kKeys = 8;
  static constexpr float kSteps = 65536;

  PairDropout() = default;
  PairDropout(float p, uint64_t seed)
      : seed_(seed), threshold_(static_cast<uint32_t>(std::lround(static_cast<double>(p) * kSteps))) {
    // By what is really kept, so that the expected output is the one without dropout.
    const float kept = kSteps - static_cast<float>(threshold_);
    raise_ = kept == 0 ? 0.0F : kSteps / kept;
  }

  // What the weights of keys 8 block .. 8 block + 7 are multiplied by. `head`: of all batch entries.
  FLASHMOE_HD void factors(int64_t head, int64_t row, int64_t block, float (&to)[kKeys]) const {
    const Philox random = number(head, row, block);
    for (int i = 0; i < kKeys; ++i) to[i] = factor_of(random, i);
  }
  FLASHMOE_HD float factor(int64_t head, int64_t row, int64_t key) const {
    return factor_of(number(head, row, key / kKeys), static_cast<int>(key % kKeys));
  }
  // Which of them are kept: bit i for key 8 block + i. Their factor is raise().
  FLASHMOE_HD uint32_t kept(int64_t head, int64_t row, int64_t block) const {
    const Philox random = number(head, row, block);
    uint32_t bits = 0;
    for (int i = 0; i < kKeys; ++i) bits |= (keeps(random, i) ? 1U : 0U) << i;
    return bits;
  }
  FLASHMOE_HD float raise() const { return raise_; }
  FLASHMOE_HD bool any() const { return threshold_ > 0; }

 private:
  FLASHMOE_HD Philox number(int64_t head, int64_t row, int64_t block) const {
    return {seed_, static_cast<uint32_t>(block), static_cast<uint32_t>(row), static_cast<uint32_t>(head),
            static_cast<uint32_t>(head >> 32)};
  }
  FLASHMOE_HD bool keeps(const Philox& random, int i) const {
    const uint32_t drawn = random.word[i / 2] >> (i % 2 * 16) & 0xFFFF;
    return drawn >= threshold_;
  }
  FLASHMOE_HD float factor_of(const Philox& random, int i) const { return keeps(random, i) ? raise_ : 0.0F; }

  uint64_t seed_ = 0;
  uint32_t threshold_ = 0;  // drawn numbers below it leave a pair out
  float raise_ = 1;
};

// What is left out is 0, whatever it was.
FLASHMOE_HD inline float drop(float weight, float factor) { return factor == 0 ? 0.0F : weight * factor; }

}  // namespace flashmoe
