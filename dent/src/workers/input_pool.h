// SPDX-License-Identifier: MIT
// Random numbers that inputs are cut from. Each call gets windows at offsets drawn for it alone, so every
// call sees values that no call before it has seen, at the price of a copy. Workers can read the pool but not
// write it, and learn an offset only when they need it.
#pragma once

#include <cstdint>
#include <vector>

#include "operators/fill.h"
#include "operators/problem.h"
#include "system/shared_memory.h"
#include "workers/messages.h"
#include "workers/protocol.h"

namespace dent {

class InputPool {
 public:
  explicit InputPool(const std::vector<Problem>& problems);  // large enough for each of them

  const SharedMemory& memory() const { return memory_; }
  std::byte* data() { return memory_.data(); }
  void fill(const Problem& problem, std::uint64_t seed);          // new numbers, for that problem's inputs
  std::vector<std::size_t> places(const Problem& problem) const;  // byte at which each input's part begins
  // Offsets of windows. What a function makes lies in slots instead, whose offsets are left at 0.
  static protocol::Offsets draw(const Problem& problem, Random& random);
  // How many sets of what a function makes have room at once.
  static std::size_t slots(const Problem& problem);

 private:
  SharedMemory memory_;
};

// What a worker is told about a problem. Outputs lie in its results one behind the other.
// `room`: of every input that is not updated in place; protocol::aim.
protocol::ProblemMessage message_for(const Problem& problem, const InputPool& pool, std::size_t calls,
                                     bool flush, std::size_t room = 0);
// Says of each input which part of the pool it will be cut from, for a GPU to keep, if together they are not
// large: the pool must not be filled again before the next problem.
void keep_parts(const Problem& problem, protocol::ProblemMessage& message);
std::size_t result_bytes(const Problem& problem);
std::vector<std::size_t> result_places(const std::vector<Tensor>& outputs);

}  // namespace dent
