// SPDX-License-Identifier: MIT
// y = 2 x, done well and badly: one entry for each way in which a kernel's process can end.
#include <dent/kernel.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

ENTRY int slow(const dent_call* call) {  // ten times the work
  for (int i = 0; i < 10; ++i) {
    scale(call);
    asm volatile("" ::: "memory");
  }
  return 0;
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

ENTRY int overruns(const dent_call* call) {
  scale(call);
  static_cast<float*>(call->outputs[0].data)[elements(call)] = 0;
  return 0;
}
}
