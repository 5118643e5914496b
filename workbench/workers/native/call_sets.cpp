// SPDX-License-Identifier: MIT
#include "workers/native/call_sets.h"

#include <cstring>
#include <stdexcept>

namespace dent {
namespace {

constexpr std::size_t kGuardBytes = 256;  // before and after each output
constexpr std::byte kGuard{0xA7};

}  // namespace

struct CallSets::Set {
  std::vector<void*> inputs;
  std::vector<void*> outputs;  // each begins kGuardBytes into its allocation
  std::vector<dent_tensor> input_tensors;
  std::vector<dent_tensor> output_tensors;
};

CallSets::CallSets(Device& device, protocol::ProblemMessage problem)
    : device_(device), problem_(std::move(problem)), numbers_(numbers_of(problem_)) {}

CallSets::~CallSets() {
  for (auto& set : sets_) release(*set);
}

void CallSets::release(Set& set) {
  for (void* memory : set.inputs) device_.free(memory);
  for (void* memory : set.outputs) device_.free(static_cast<std::byte*>(memory) - kGuardBytes);
}

std::unique_ptr<CallSets::Set> CallSets::make_set() {
  auto set = std::make_unique<Set>();
  for (const auto& place : problem_.inputs) {
    set->inputs.push_back(device_.allocate(place.tensor.bytes() + place.room));
    set->input_tensors.push_back(view_of(place.tensor, set->inputs.back()));
  }
  for (const auto& place : problem_.outputs) {
    auto* memory = static_cast<std::byte*>(device_.allocate(place.tensor.bytes() + 2 * kGuardBytes));
    set->outputs.push_back(memory + kGuardBytes);
    set->output_tensors.push_back(view_of(place.tensor, set->outputs.back()));
  }
  return set;
}

dent_tensor view_of(const Tensor& tensor, void* data) {
  return {tensor.name.c_str(), data, static_cast<std::int32_t>(tensor.dtype),
          static_cast<std::int32_t>(tensor.sizes.size()), tensor.sizes.data()};
}

std::vector<dent_number> numbers_of(const protocol::ProblemMessage& problem) {
  std::vector<dent_number> numbers;
  for (const auto& [name, value] : problem.numbers) numbers.push_back({name.c_str(), value});
  return numbers;
}

std::vector<std::byte> values_in(const protocol::TensorPlace& input, const std::byte* pool,
                                 std::size_t offset) {
  const std::byte* from = pool + input.at + offset * bytes_of(input.stored);
  std::vector<std::byte> values(input.tensor.bytes() + input.room);
  if (input.stored == input.tensor.dtype) {
    std::memcpy(values.data(), from, values.size());
  } else {
    for (std::size_t i = 0; i < values.size() / bytes_of(input.tensor.dtype); ++i) {
      store(input.tensor.dtype, values.data(), i, load(input.stored, from, i));
    }
  }
  return values;
}

void CallSets::prepare(const std::byte* pool, const std::vector<protocol::Offsets>& calls, void* setup) {
  while (sets_.size() < calls.size()) sets_.push_back(make_set());
  prepared_.clear();
  snapshot_.clear();
  offsets_ = calls;
  std::vector<std::vector<std::byte>> blanks;  // an output's memory before a call: guard, poison, guard
  for (const auto& place : problem_.outputs) {
    std::vector<std::byte> blank(place.tensor.bytes() + 2 * kGuardBytes, kGuard);
    poison(place.tensor.dtype, blank.data() + kGuardBytes, place.tensor.elements());
    blanks.push_back(std::move(blank));
  }
  for (std::size_t c = 0; c < calls.size(); ++c) {
    Set& set = *sets_[c];
    PreparedCall prepared;
    for (std::size_t i = 0; i < problem_.inputs.size(); ++i) {
      const auto values = values_in(problem_.inputs[i], pool, calls[c].at(i));
      device_.upload(set.inputs[i], values.data(), values.size());
      prepared.memory.emplace_back(set.inputs[i], values.size());
      prepared.with_room.push_back(problem_.inputs[i].room > 0);
    }
    for (std::size_t i = 0; i < problem_.outputs.size(); ++i) {
      const Tensor& output = problem_.outputs[i].tensor;
      if (output.updates >= 0) {
        const auto from = static_cast<std::size_t>(output.updates);
        const auto values = values_in(problem_.inputs.at(from), pool, calls[c].at(from));
        for (std::size_t e = 0; e < output.elements(); ++e) {
          store(output.dtype, blanks[i].data() + kGuardBytes, e,
                load(problem_.inputs[from].tensor.dtype, values.data(), e));
        }
      }
      device_.upload(static_cast<std::byte*>(set.outputs[i]) - kGuardBytes, blanks[i].data(),
                     blanks[i].size());
      prepared.memory.emplace_back(set.outputs[i], problem_.outputs[i].tensor.bytes());
    }
    prepared.call = {.struct_size = sizeof(dent_call),
                     .device = device_.kind(),
                     .num_inputs = static_cast<std::int32_t>(set.input_tensors.size()),
                     .num_outputs = static_cast<std::int32_t>(set.output_tensors.size()),
                     .num_numbers = static_cast<std::int32_t>(numbers_.size()),
                     .inputs = set.input_tensors.data(),
                     .outputs = set.output_tensors.data(),
                     .numbers = numbers_.data(),
                     .stream = device_.stream(),
                     .setup = setup};
    prepared.inputs = set.input_tensors.data();
    prepared_.push_back(std::move(prepared));
  }
}

void CallSets::snapshot(std::size_t call) {
  watched_ = call;
  snapshot_.clear();
  const Set& set = *sets_.at(call);
  for (std::size_t i = 0; i < problem_.outputs.size(); ++i) {
    if (problem_.outputs[i].tensor.scratch) break;  // behind all others
    std::vector<std::byte> values(problem_.outputs[i].tensor.bytes());
    device_.download_in_order(values.data(), set.outputs[i], values.size());
    snapshot_.push_back(std::move(values));
  }
}

protocol::Kept CallSets::keep(std::size_t call, const std::byte* pool, std::byte* results) {
  if (call >= prepared_.size()) throw std::runtime_error("no such call was prepared");
  const Set& set = *sets_[call];
  protocol::Kept kept;
  for (std::size_t i = 0; i < problem_.inputs.size(); ++i) {
    const auto& place = problem_.inputs[i];
    std::vector<std::byte> now(place.tensor.bytes() + place.room);
    device_.download(now.data(), set.inputs[i], now.size());
    if (now != values_in(place, pool, offsets_[call].at(i))) kept.inputs.push_back(place.tensor.name);
  }
  for (std::size_t i = 0; i < problem_.outputs.size(); ++i) {
    const auto& place = problem_.outputs[i];
    std::vector<std::byte> now(place.tensor.bytes() + 2 * kGuardBytes);
    device_.download(now.data(), static_cast<const std::byte*>(set.outputs[i]) - kGuardBytes, now.size());
    bool guarded = true;
    for (std::size_t b = 0; b < kGuardBytes; ++b) {
      guarded = guarded && now[b] == kGuard && now[now.size() - 1 - b] == kGuard;
    }
    if (!guarded) kept.overruns.push_back(place.tensor.name);
    if (place.tensor.scratch) continue;
    const std::byte* values = now.data() + kGuardBytes;
    std::memcpy(results + place.at, values, place.tensor.bytes());
    if (call == watched_ && i < snapshot_.size()) {
      kept.late = kept.late || std::memcmp(snapshot_[i].data(), values, place.tensor.bytes()) != 0;
    }
  }
  return kept;
}

}  // namespace dent
