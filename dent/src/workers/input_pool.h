// SPDX-License-Identifier: MIT
// Random numbers that inputs are cut from. Each call gets windows at its own random offsets, so every call
// sees values that no earlier call has seen, for the price of a copy. Workers can only read the pool, and
// learn an offset only when they need it.
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
  explicit InputPool(const std::vector<Problem>& problems);  // large enough for each problem

  const SharedMemory& memory() const { return memory_; }
  std::byte* data() { return memory_.data(); }
  void fill(const Problem& problem, std::uint64_t seed);          // writes new numbers for its inputs
  std::vector<std::size_t> places(const Problem& problem) const;  // first byte of each input's part
  // Draws window offsets. Inputs that a function makes are in slots, so their offsets are 0.
  static protocol::Offsets draw(const Problem& problem, Random& random);
  // How many sets of made inputs fit at once.
  static std::size_t slots(const Problem& problem);

 private:
  SharedMemory memory_;
};

// Describes a problem to a worker. Outputs follow each other in its results. `room`: additional bytes for
// every input that is not updated in place; see protocol::aim.
protocol::ProblemMessage message_for(const Problem& problem, const InputPool& pool, std::size_t calls,
                                     bool flush, std::size_t room = 0);
// Adds to the message which part of the pool each input is cut from, so that a GPU can keep these parts,
// unless they are too large. The pool must not be refilled before the next problem.
void keep_parts(const Problem& problem, protocol::ProblemMessage& message);
std::size_t result_bytes(const Problem& problem);
std::vector<std::size_t> result_places(const std::vector<Tensor>& outputs);

}  // namespace dent
