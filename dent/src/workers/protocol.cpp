// SPDX-License-Identifier: MIT
#include "workers/protocol.h"

namespace dent::protocol {

// The finisher of splitmix64: every input bit affects every output bit.
std::size_t aim(std::uint64_t lot, std::size_t call, std::size_t input) {
  if (lot == 0) return 0;
  std::uint64_t z = lot + 0x9e3779b97f4a7c15U * (call * 16 + input + 1);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return static_cast<std::size_t>((z ^ (z >> 31U)) % kAims) * kAimBytes;
}

}  // namespace dent::protocol
