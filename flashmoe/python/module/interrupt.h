// SPDX-License-Identifier: MIT
// Ctrl-C during a long call: the library is told to end it, and Python then raises what its handler raises.
#pragma once

#include <cstdint>

namespace flashmoe_python {

// From the constructor to the destructor SIGINT sets flag(), beside what it does anyway: where the call is
// long, the thread is the main one, and Python (or the program) handles the signal. The GIL is held by both.
class Interrupt {
 public:
  explicit Interrupt(bool is_long);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  const int32_t* flag() const;  // null: the call can't be ended

 private:
  bool installed_ = false;
};

}  // namespace flashmoe_python
