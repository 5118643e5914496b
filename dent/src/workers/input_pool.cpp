// SPDX-License-Identifier: MIT
#include "workers/input_pool.h"

#include <algorithm>

namespace dent {
namespace {

constexpr std::size_t kWindows = std::size_t{1} << 17;  // number of offsets to choose from
constexpr std::size_t kAlignment = 4096;
constexpr std::size_t kMostSlots = 64;
constexpr std::size_t kMostBytesOfSlots = std::size_t{512} << 20;
constexpr std::size_t kMostBytesOfParts = std::size_t{2} << 30;  // in addition to what calls use

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
bool in_slots(const Tensor& tensor) { return tensor.made() && !tensor.constant; }

std::size_t part_elements(const Problem& problem, const Tensor& tensor) {
  if (in_slots(tensor)) return tensor.elements() * InputPool::slots(problem);
  return tensor.constant ? tensor.elements() : tensor.elements() + kWindows;
}

}  // namespace

std::size_t InputPool::slots(const Problem& problem) {
  std::size_t bytes = 1;
  for (const Tensor& tensor : problem.inputs) bytes += in_slots(tensor) ? tensor.bytes() : 0;
  return std::clamp<std::size_t>(kMostBytesOfSlots / bytes, 2, kMostSlots);
}

InputPool::InputPool(const std::vector<Problem>& problems) {
  std::size_t bytes = kAlignment;
  for (const Problem& problem : problems) {
    std::size_t needed = 0;
    for (const Tensor& tensor : problem.inputs)
      needed += aligned(part_elements(problem, tensor) * bytes_of(tensor.dtype));
    bytes = std::max(bytes, needed);
  }
  memory_ = SharedMemory("dent-inputs", bytes, SharedMemory::Children::only_read);
}

std::vector<std::size_t> InputPool::places(const Problem& problem) const {
  std::vector<std::size_t> result;
  std::size_t at = 0;
  for (const Tensor& tensor : problem.inputs) {
    result.push_back(at);
    at += aligned(part_elements(problem, tensor) * bytes_of(tensor.dtype));
  }
  return result;
}

void InputPool::fill(const Problem& problem, std::uint64_t seed) {
  const auto at = places(problem);
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    const Tensor& tensor = problem.inputs[i];
    dent::fill(tensor.fill, tensor.dtype, memory_.data() + at[i], part_elements(problem, tensor), seed + i);
  }
}

protocol::Offsets InputPool::draw(const Problem& problem, Random& random) {
  protocol::Offsets offsets;
  for (const Tensor& input : problem.inputs) {
    const bool fixed = input.constant || input.made();
    offsets.push_back(fixed ? 0 : random.below(kWindows - protocol::kRoom));  // room for aim()
  }
  return offsets;
}

std::vector<std::size_t> result_places(const std::vector<Tensor>& outputs) {
  std::vector<std::size_t> result;
  std::size_t at = 0;
  for (const Tensor& tensor : outputs) {
    result.push_back(at);
    at += aligned(tensor.bytes());
  }
  return result;
}

std::size_t result_bytes(const Problem& problem) {
  std::size_t bytes = 0;
  for (const Tensor& tensor : problem.outputs) bytes += tensor.scratch ? 0 : aligned(tensor.bytes());
  return bytes;
}

void keep_parts(const Problem& problem, protocol::ProblemMessage& message) {
  std::size_t bytes = 0;
  for (const Tensor& input : problem.inputs)
    bytes += in_slots(input) ? 0 : part_elements(problem, input) * bytes_of(input.dtype);
  if (bytes > kMostBytesOfParts) return;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    if (!in_slots(problem.inputs[i])) message.inputs[i].part = part_elements(problem, problem.inputs[i]);
  }
}

protocol::ProblemMessage message_for(const Problem& problem, const InputPool& pool, std::size_t calls,
                                     bool flush, std::size_t room) {
  protocol::ProblemMessage message;
  const auto in = pool.places(problem);
  const auto out = result_places(problem.outputs);
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    const Tensor& input = problem.inputs[i];
    message.inputs.push_back({input, input.dtype, in[i], input.constant || input.made() ? 0 : room});
  }
  for (std::size_t i = 0; i < problem.outputs.size(); ++i) {
    const Tensor& output = problem.outputs[i];
    message.outputs.push_back({output, output.dtype, out[i]});
    if (output.updates >= 0) message.inputs[static_cast<std::size_t>(output.updates)].room = 0;
  }
  message.numbers = problem.numbers;
  message.calls = calls;
  message.flush = flush;
  return message;
}

}  // namespace dent
