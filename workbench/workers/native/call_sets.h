// SPDX-License-Identifier: MIT
// Sets of tensors, one per call of a timed stretch, so that no two calls see the same memory or the same
// values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workers/native/device.h"

namespace dent {

// The values of an input, as the kernel is to see them, with what lies in its room.
std::vector<std::byte> values_in(const protocol::TensorPlace& input, const std::byte* pool,
                                 std::size_t offset);
dent_tensor view_of(const Tensor& tensor, void* data);
std::vector<dent_number> numbers_of(const protocol::ProblemMessage& problem);

class CallSets {
 public:
  CallSets(Device& device, protocol::ProblemMessage problem);
  ~CallSets();
  CallSets(const CallSets&) = delete;
  CallSets& operator=(const CallSets&) = delete;

  // Fresh inputs and poisoned outputs for calls.size() sets. `setup`: what the kernel has made of the
  // constant inputs.
  void prepare(const std::byte* pool, const std::vector<protocol::Offsets>& calls, void* setup);
  const protocol::ProblemMessage& problem() const { return problem_; }
  const std::vector<PreparedCall>& prepared() const { return prepared_; }
  bool flush() const { return problem_.flush; }

  void snapshot(std::size_t call);  // the outputs of that call, as they are now
  // The outputs of one call into `results`, and what was wrong with it.
  protocol::Kept keep(std::size_t call, const std::byte* pool, std::byte* results);

 private:
  struct Set;
  std::unique_ptr<Set> make_set();
  void release(Set& set);

  Device& device_;
  protocol::ProblemMessage problem_;
  std::vector<dent_number> numbers_;
  std::vector<std::unique_ptr<Set>> sets_;
  std::vector<PreparedCall> prepared_;
  std::vector<protocol::Offsets> offsets_;
  std::size_t watched_ = 0;                       // the call that `snapshot_` is of
  std::vector<std::vector<std::byte>> snapshot_;  // of its outputs
};

}  // namespace dent
