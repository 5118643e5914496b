// SPDX-License-Identifier: MIT
// SHA-256 as FIPS 180-4 describes it.
#include "base/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/text.h"

namespace dent {
namespace {

using Word = std::uint32_t;

// Constants of SHA-256: the first 32 bits of the fractional parts of square roots (initial state) and cube
// roots (round constants) of the first primes.
struct Constants {
  std::array<Word, 8> start{};
  std::array<Word, 64> round{};
  Constants() {
    std::size_t found = 0;
    for (int n = 2; found < round.size(); ++n) {
      bool prime = true;
      for (int d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
      if (!prime) continue;
      const auto fraction = [](long double root) {
        return static_cast<Word>((root - std::floor(root)) * 4294967296.0L);
      };
      if (found < start.size()) start[found] = fraction(std::sqrt(static_cast<long double>(n)));
      round[found++] = fraction(std::cbrt(static_cast<long double>(n)));
    }
  }
};

void absorb(std::array<Word, 8>& state, const unsigned char* block, const Constants& constants) {
  std::array<Word, 64> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    w[i] = Word{block[4 * i]} << 24 | Word{block[4 * i + 1]} << 16 | Word{block[4 * i + 2]} << 8 |
           block[4 * i + 3];
  }
  for (std::size_t i = 16; i < 64; ++i) {
    const Word s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const Word s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const Word s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const Word t1 = h + s1 + ((e & f) ^ (~e & g)) + constants.round[i] + w[i];
    const Word s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const Word t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<Word, 8> sum{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += sum[i];
}

}  // namespace

std::string sha256(std::string_view bytes) {
  static const Constants constants;
  std::string padded(bytes);
  padded += '\x80';
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded += static_cast<char>(bits >> shift);
  auto state = constants.start;
  for (std::size_t at = 0; at < padded.size(); at += 64) {
    absorb(state, reinterpret_cast<const unsigned char*>(padded.data()) + at, constants);
  }
  std::string digits;
  for (const Word word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[(word >> shift) & 15U];
  }
  return digits;
}

std::string sha256_of_file(const std::filesystem::path& file) {
  const auto content = read_text(file);
  return content ? sha256(*content) : "";
}

}  // namespace dent
