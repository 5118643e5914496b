// SPDX-License-Identifier: MIT
// y = 2 x, right and wrong: one entry for each way in which a kernel's process can end.
#include <dent/kernel.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace {

std::int64_t elements(const dent_call* call) {
  std::int64_t count = 1;
  for (int d = 0; d < call->inputs[0].rank; ++d) count *= call->inputs[0].sizes[d];
  return count;
}

void scale(const dent_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  for (std::int64_t i = 0; i < elements(call); ++i) y[i] = 2 * x[i];
}

}  // namespace

extern "C" {
#define ENTRY __attribute__((visibility("default")))

ENTRY int right(const dent_call* call) {
  scale(call);
  return 0;
}

ENTRY int in_place(const dent_call* call) {  // y = 2 y
  auto* y = static_cast<float*>(call->outputs[0].data);
  for (std::int64_t i = 0; i < elements(call); ++i) y[i] *= 2;
  return 0;
}

ENTRY int reference(const dent_call* call) {  // in fp64
  const auto* x = static_cast<const double*>(call->inputs[0].data);
  auto* y = static_cast<double*>(call->outputs[0].data);
  for (std::int64_t i = 0; i < elements(call); ++i) y[i] = 2 * x[i];
  return 0;
}

static int scale_often(const dent_call* call, int times) {
  for (int i = 0; i < times; ++i) {
    scale(call);
    asm volatile("" ::: "memory");
  }
  return 0;
}

ENTRY int slow(const dent_call* call) { return scale_often(call, 10); }  // ten times the work
ENTRY int takes_100(const dent_call* call) { return scale_often(call, 100); }
ENTRY int takes_115(const dent_call* call) { return scale_often(call, 115); }
ENTRY int quick(const dent_call* call) { return right(call); }     // time set by the script only
ENTRY int unsteady(const dent_call* call) { return right(call); }  // time varies by the script

// Time of a call in a scripted session (dent/tests/support/scripted).
ENTRY double scripted_ns(const char* entry) {
  const std::string_view name(entry);
  if (name == "quick") return 100e3;
  if (name == "slow") return 1000e3;
  return name == "takes_115" ? 230e3 : 200e3;
}
ENTRY double scripted_spread(const char* entry) {
  return std::string_view(entry) == "unsteady" ? 0.5 : 0.002;
}

ENTRY int wrong(const dent_call* call) {
  scale(call);
  static_cast<float*>(call->outputs[0].data)[elements(call) - 1] += 1;
  return 0;
}

ENTRY int crashes(const dent_call*) {
  std::fputs("about to crash\n", stderr);
  volatile int* nowhere = nullptr;
  *nowhere = 1;
  return 0;
}

ENTRY int hangs(const dent_call*) {
  std::fputs("about to hang\n", stderr);
  for (;;) pause();
}

ENTRY int leaves(const dent_call*) { _exit(0); }

ENTRY int babbles(const dent_call* call) {
  scale(call);
  const char* text = "I am a reply\n";
  if (write(4, text, std::strlen(text)) < 0) return 1;
  return 0;
}

ENTRY int refuses(const dent_call*) { return 7; }

ENTRY int hoards(const dent_call*) {
  std::vector<char*> kept;
  for (;;) {
    auto* memory = static_cast<char*>(std::malloc(1 << 24));
    if (memory == nullptr) std::abort();
    std::memset(memory, 1, 1 << 24);
    kept.push_back(memory);
  }
}

struct Packed {
  std::vector<float> scaled;  // scaled weights
  const float* weights;       // the given weights
  float times;                // how often setup has run
};

// Setup of y = x + 4 w with constant w. Fails for any other input and for any output.
ENTRY int packs(const dent_call* call, void** setup) {
  if (call->num_inputs != 1 || call->num_outputs != 0 || std::strcmp(call->inputs[0].name, "w") != 0)
    return 7;
  if (call->num_numbers != 1 || call->numbers[0].value != static_cast<double>(elements(call))) return 8;
  if (call->setup != *setup) return 9;
  if (*setup == nullptr) *setup = new Packed{};
  auto* packed = static_cast<Packed*>(*setup);
  packed->weights = static_cast<const float*>(call->inputs[0].data);
  packed->scaled.assign(packed->weights, packed->weights + elements(call));
  for (float& value : packed->scaled) value *= 4;
  packed->times += 1;
  return 0;
}

ENTRY int adds_packed(const dent_call* call) {  // the last element is the number of setup calls
  const auto& packed = *static_cast<const Packed*>(call->setup);
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  for (std::int64_t i = 0; i < elements(call); ++i) y[i] = x[i] + packed.scaled[static_cast<std::size_t>(i)];
  y[elements(call) - 1] = packed.times;
  return 0;
}

ENTRY int reads_what_the_setup_was_given(const dent_call* call) {
  const auto& packed = *static_cast<const Packed*>(call->setup);
  auto* y = static_cast<float*>(call->outputs[0].data);
  for (std::int64_t i = 0; i < elements(call); ++i) y[i] = packed.weights[i];
  return 0;
}

ENTRY int gives_up(const dent_call*, void**) { return 3; }

ENTRY int overruns(const dent_call* call) {
  scale(call);
  static_cast<float*>(call->outputs[0].data)[elements(call)] = 0;
  return 0;
}
}
