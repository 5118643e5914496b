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
    : device_(device),
      problem_(std::move(problem)),
      numbers_(numbers_of(problem_)),
      parts_(problem_.inputs.size()),
      kept_blanks_(problem_.outputs.size()),
      blanks_(problem_.outputs.size()) {}

CallSets::~CallSets() {
  for (auto& set : sets_) release(*set);
  for (const auto* kept : {&parts_, &kept_blanks_}) {
    for (void* memory : *kept) {
      if (memory != nullptr) device_.free(memory);
    }
  }
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

// The part of the pool that an input's windows are cut from, copied to the GPU; null if it isn't kept.
void* CallSets::part_of(std::size_t input, const std::byte* pool) {
  const auto& place = problem_.inputs[input];
  if (!device_.copies() || place.part == 0 || place.room > 0 || place.stored != place.tensor.dtype)
    return nullptr;
  void*& part = parts_.at(input);
  if (part == nullptr) {
    const std::size_t bytes = place.part * bytes_of(place.stored);
    part = device_.allocate(bytes);
    device_.upload(part, pool + place.at, bytes);
  }
  return part;
}

void CallSets::put_input(void* to, std::size_t input, const std::byte* pool, std::size_t offset) {
  const auto& place = problem_.inputs[input];
  if (const void* part = part_of(input, pool)) {
    const auto* from = static_cast<const std::byte*>(part) + offset * bytes_of(place.stored);
    return device_.copy(to, from, place.tensor.bytes());
  }
  const auto values = values_in(place, pool, offset);
  device_.upload(to, values.data(), values.size());
}

void CallSets::put_blank(void* to, std::size_t output, const std::byte* pool, const protocol::Offsets& call) {
  const Tensor& tensor = problem_.outputs[output].tensor;
  std::vector<std::byte>& blank = blanks_.at(output);
  if (blank.empty()) {
    blank.assign(tensor.bytes() + 2 * kGuardBytes, kGuard);
    poison(tensor.dtype, blank.data() + kGuardBytes, tensor.elements());
  }
  if (device_.copies() && tensor.updates < 0) {
    void*& kept = kept_blanks_.at(output);
    if (kept == nullptr) {
      kept = device_.allocate(blank.size());
      device_.upload(kept, blank.data(), blank.size());
    }
    return device_.copy(to, kept, blank.size());
  }
  if (tensor.updates >= 0) {
    const auto from = static_cast<std::size_t>(tensor.updates);
    const auto values = values_in(problem_.inputs.at(from), pool, call.at(from));
    for (std::size_t e = 0; e < tensor.elements(); ++e) {
      store(tensor.dtype, blank.data() + kGuardBytes, e,
            load(problem_.inputs[from].tensor.dtype, values.data(), e));
    }
  }
  device_.upload(to, blank.data(), blank.size());
}

void CallSets::prepare(const std::byte* pool, const std::vector<protocol::Offsets>& calls, void* setup) {
  while (sets_.size() < calls.size()) sets_.push_back(make_set());
  prepared_.clear();
  snapshot_.clear();
  watched_.reset();
  offsets_ = calls;
  for (std::size_t c = 0; c < calls.size(); ++c) {
    Set& set = *sets_[c];
    PreparedCall prepared;
    for (std::size_t i = 0; i < problem_.inputs.size(); ++i) {
      const auto& place = problem_.inputs[i];
      put_input(set.inputs[i], i, pool, calls[c].at(i));
      prepared.memory.emplace_back(set.inputs[i], place.tensor.bytes() + place.room);
      prepared.with_room.push_back(place.room > 0);
    }
    for (std::size_t i = 0; i < problem_.outputs.size(); ++i) {
      put_blank(static_cast<std::byte*>(set.outputs[i]) - kGuardBytes, i, pool, calls[c]);
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
  device_.wait();
}

std::vector<std::byte> CallSets::copy_of_output(std::size_t output) {
  std::vector<std::byte> values(problem_.outputs[output].tensor.bytes());
  device_.download_in_order(values.data(), sets_.at(*watched_)->outputs[output], values.size());
  return values;
}

void CallSets::snapshot(std::size_t call) {
  watched_ = call;
  snapshot_.clear();
  if (device_.copies()) return;
  for (std::size_t i = 0; i < problem_.outputs.size(); ++i) {
    if (problem_.outputs[i].tensor.scratch) break;  // scratch outputs come last
    snapshot_.push_back(copy_of_output(i));
  }
}

protocol::Kept CallSets::keep(std::size_t call, const std::byte* pool, std::byte* results) {
  if (call >= prepared_.size()) throw std::runtime_error("the call was not prepared");
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
    if (call == watched_) {
      const auto& then = device_.copies() ? copy_of_output(i) : snapshot_.at(i);
      kept.late = kept.late || std::memcmp(then.data(), values, place.tensor.bytes()) != 0;
    }
  }
  return kept;
}

}  // namespace dent
