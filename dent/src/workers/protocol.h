// SPDX-License-Identifier: MIT
// Transport between parent and worker: one JSON object per line, requests on descriptor 3, replies on
// descriptor 4. Tensors are in shared memory: inputs in the pool (5, read-only), outputs in the results (6).
#pragma once

#include <cstddef>
#include <cstdint>

namespace dent::protocol {

inline constexpr int kRequests = 3;
inline constexpr int kReplies = 4;
inline constexpr int kPool = 5;
inline constexpr int kResults = 6;
inline constexpr std::size_t kLongestLine = std::size_t{16} << 20;

// The worker learns where an input begins within its room only when the call is due: a thread that has
// watched the bytes arrive can't know which of kAims windows the call will read. Both sides compute the
// window from a random number that is drawn for the batch and sent with "go"; 0 means that all inputs begin
// at the start of their room.
inline constexpr std::size_t kAimBytes = 64;  // alignment that kernels are promised
inline constexpr std::size_t kAims = 64;
inline constexpr std::size_t kRoom = (kAims - 1) * kAimBytes;
std::size_t aim(std::uint64_t lot, std::size_t call, std::size_t input);  // in bytes

// The call of a batch whose outputs are copied as soon as it returns. It is not known before the batch
// begins; with lot 0, and on a GPU, it is the last.
constexpr std::size_t watched(std::uint64_t lot, std::size_t calls) {
  return lot == 0 ? calls - 1 : static_cast<std::size_t>((lot >> 8U) % calls);
}

}  // namespace dent::protocol
