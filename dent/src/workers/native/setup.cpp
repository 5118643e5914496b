// SPDX-License-Identifier: MIT
#include "workers/native/setup.h"

#include <chrono>
#include <stdexcept>
#include <string>

#include "workers/native/call_sets.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::byte kPoison{0xFF};  // in every byte: a NaN in each floating-point type

}  // namespace

void Setup::release() {
  for (void* memory : lent_) device_.free(memory);
  lent_.clear();
}

double Setup::run(const protocol::ProblemMessage& problem, const std::byte* pool) {
  Values constants;  // each begins where its part of the pool begins
  for (const auto& input : problem.inputs) {
    if (input.tensor.constant) constants.push_back(values_in(input, pool, 0));
  }
  if (known_ && constants == constants_) return ns_;
  call(problem, constants);
  constants_ = std::move(constants);
  known_ = true;
  return ns_;
}

void Setup::call(const protocol::ProblemMessage& problem, const Values& constants) {
  release();
  std::vector<dent_tensor> tensors;
  for (const auto& input : problem.inputs) {
    if (!input.tensor.constant) continue;
    const auto& values = constants[tensors.size()];
    lent_.push_back(device_.allocate(values.size()));
    device_.upload(lent_.back(), values.data(), values.size());
    tensors.push_back(view_of(input.tensor, lent_.back()));
  }
  const std::vector<dent_number> numbers = numbers_of(problem);
  const dent_call call{.struct_size = sizeof(dent_call),
                       .device = device_.kind(),
                       .num_inputs = static_cast<std::int32_t>(tensors.size()),
                       .num_outputs = 0,
                       .num_numbers = static_cast<std::int32_t>(numbers.size()),
                       .inputs = tensors.data(),
                       .outputs = nullptr,
                       .numbers = numbers.data(),
                       .stream = device_.stream(),
                       .setup = left_};
  device_.wait();
  const auto start = Clock::now();
  const int status = function_(&call, &left_);
  device_.wait();
  ns_ = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  if (status != 0) throw std::runtime_error("the setup returned " + std::to_string(status));
  for (std::size_t i = 0; i < lent_.size(); ++i) {
    const std::vector<std::byte> gone(constants[i].size(), kPoison);
    device_.upload(lent_[i], gone.data(), gone.size());
  }
}

}  // namespace dent
