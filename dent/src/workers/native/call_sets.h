// SPDX-License-Identifier: MIT
// Sets of tensors, one for each call of a timed batch, so that no two calls share memory or values.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "workers/native/device.h"

namespace dent {

// The values of an input, converted for the kernel, including its room.
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

  // Writes fresh inputs and poisoned outputs for calls.size() sets. `setup` is the pointer that the kernel's
  // setup returned.
  void prepare(const std::byte* pool, const std::vector<protocol::Offsets>& calls, void* setup);
  const protocol::ProblemMessage& problem() const { return problem_; }
  const std::vector<PreparedCall>& prepared() const { return prepared_; }
  bool flush() const { return problem_.flush; }

  // Copies the current outputs of that call. (A GPU copies them in stream order by itself.)
  void snapshot(std::size_t call);
  // Writes the outputs of one call to `results`, and returns what was wrong with the call.
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
  // GPU only, filled on first use: the parts that windows are cut from, and copies of `blanks_`.
  std::vector<void*> parts_, kept_blanks_;
  std::vector<std::vector<std::byte>> blanks_;    // initial contents of outputs: guard, poison, guard
  std::optional<std::size_t> watched_;            // the call that `snapshot_` belongs to
  std::vector<std::vector<std::byte>> snapshot_;  // CPU only: copies of its outputs
};

}  // namespace dent
