// SPDX-License-Identifier: MIT
// A kernel's second function, which sees the constant inputs outside the clock. It gets copies of these and
// nothing else, and they read NaN when it has returned: a call has what was made of them, and its own inputs.
#pragma once

#include <cstddef>
#include <vector>

#include "workers/native/device.h"

namespace dent {

class Setup {
 public:
  Setup(Device& device, dent_setup function) : device_(device), function_(function) {}
  ~Setup() { release(); }
  Setup(const Setup&) = delete;
  Setup& operator=(const Setup&) = delete;

  void forget() { known_ = false; }  // another problem, which may have the same constants
  // Calls it, where the constant inputs in the pool are others than before. What the last call took, in ns.
  // Throws when it returns an error.
  double run(const protocol::ProblemMessage& problem, const std::byte* pool);
  void* left() const { return left_; }  // for the calls

 private:
  using Values = std::vector<std::vector<std::byte>>;
  void call(const protocol::ProblemMessage& problem, const Values& constants);
  void release();

  Device& device_;
  dent_setup function_;
  bool known_ = false;
  Values constants_;         // that it has seen
  std::vector<void*> lent_;  // the copies that it had; not used for anything else until the next ones
  void* left_ = nullptr;
  double ns_ = 0;
};

}  // namespace dent
