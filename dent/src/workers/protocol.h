// SPDX-License-Identifier: MIT
// How parent and worker talk: one JSON object per line, requests on descriptor 3, replies on 4. Tensors go
// through shared memory: inputs come out of the pool (5, read only), outputs go into the results (6).
#pragma once

#include <cstddef>
#include <cstdint>

namespace dent::protocol {

inline constexpr int kRequests = 3;
inline constexpr int kReplies = 4;
inline constexpr int kPool = 5;
inline constexpr int kResults = 6;
inline constexpr std::size_t kLongestLine = std::size_t{16} << 20;

// Where an input begins in what was put in place for it is said only when its call is due: a thread that has
// watched the bytes arrive can't know which of kAims windows they will be read through. Both sides find the
// window from a number that is drawn for the stretch and sent with "go"; 0: all begin at the beginning.
inline constexpr std::size_t kAimBytes = 64;  // the alignment that kernels are promised
inline constexpr std::size_t kAims = 64;
inline constexpr std::size_t kRoom = (kAims - 1) * kAimBytes;
std::size_t aim(std::uint64_t lot, std::size_t call, std::size_t input);  // in bytes

// The call of a stretch whose outputs are copied at the moment when it returns. Nobody knows which before the
// stretch begins; without a lot, and on a GPU, it is the last.
constexpr std::size_t watched(std::uint64_t lot, std::size_t calls) {
  return lot == 0 ? calls - 1 : static_cast<std::size_t>((lot >> 8U) % calls);
}

}  // namespace dent::protocol
