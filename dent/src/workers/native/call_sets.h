// SPDX-License-Identifier: MIT
// Sets of tensors, one per call of a timed stretch, so that no two calls see the same memory or the same
// values.
#pragma once

#include <memory>
#include <optional>
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

  // The outputs of that call, as they are now. A GPU has put them aside by itself.
  void snapshot(std::size_t call);
  // The outputs of one call into `results`, and what was wrong with it.
  protocol::Kept keep(std::size_t call, const std::byte* pool, std::byte* results);

 private:
  struct Set;
  std::unique_ptr<Set> make_set();
  void release(Set& set);
  void* part_of(std::size_t input, const std::byte* pool);
  void put_input(void* to, std::size_t input, const std::byte* pool, std::size_t offset);
  void put_blank(void* to, std::size_t output, const std::byte* pool, const protocol::Offsets& call);
  std::vector<std::byte> copy_of_output(std::size_t output);

  Device& device_;
  protocol::ProblemMessage problem_;
  std::vector<dent_number> numbers_;
  std::vector<std::unique_ptr<Set>> sets_;
  std::vector<PreparedCall> prepared_;
  std::vector<protocol::Offsets> offsets_;
  // On a GPU, from when they are first needed: what windows are cut from, and what outputs hold before a
  // call, `blanks_`.
  std::vector<void*> parts_, kept_blanks_;
  std::vector<std::vector<std::byte>> blanks_;    // guard, poison, guard
  std::optional<std::size_t> watched_;            // the call that `snapshot_` is of
  std::vector<std::vector<std::byte>> snapshot_;  // of its outputs, on a CPU
};

}  // namespace dent
