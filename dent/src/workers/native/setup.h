// SPDX-License-Identifier: MIT
// A kernel's optional second function, which processes constant inputs outside the timed calls. It gets
// copies of these inputs only, and the copies are overwritten with NaN when it has returned: so calls must
// use what it made of them.
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

  void forget() { known_ = false; }  // for another problem, even if its constants are equal
  // Calls the function if the constant inputs in the pool have changed. Returns the time of its last call in
  // ns; throws if it returns an error.
  double run(const protocol::ProblemMessage& problem, const std::byte* pool);
  void* left() const { return left_; }  // the pointer that it returned, for the calls

 private:
  using Values = std::vector<std::vector<std::byte>>;
  void call(const protocol::ProblemMessage& problem, const Values& constants);
  void release();

  Device& device_;
  dent_setup function_;
  bool known_ = false;
  Values constants_;         // the inputs of its last call
  std::vector<void*> lent_;  // copies that it was given; kept until its next call
  void* left_ = nullptr;
  double ns_ = 0;
};

}  // namespace dent
