// SPDX-License-Identifier: MIT
#include "primitives/model/guarded_memory.h"

#include <algorithm>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(data, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(data, bytes)
#endif

namespace flashmoe::model {
namespace {

constexpr std::size_t kAlignment = 1024;
constexpr std::byte kGuard{0xA5};
constexpr std::byte kPoison{0xFF};  // a NaN in every floating-point type

}  // namespace

GuardedMemory::GuardedMemory(std::size_t bytes)
    : memory_(std::make_unique<std::byte[]>(bytes + 2 * kGuardBytes + kAlignment)), bytes_(bytes) {
  void* aligned = memory_.get() + kGuardBytes;
  std::size_t space = bytes + kGuardBytes + kAlignment;
  data_ = static_cast<std::byte*>(std::align(kAlignment, bytes + kGuardBytes, aligned, space));
}

GuardedMemory::~GuardedMemory() {
  if (memory_ != nullptr) open_guards();
}

void GuardedMemory::open_guards() {
  ASAN_UNPOISON_MEMORY_REGION(before(), kGuardBytes);
  ASAN_UNPOISON_MEMORY_REGION(behind(), kGuardBytes);
}

void GuardedMemory::prepare() {
  std::fill_n(before(), kGuardBytes, kGuard);
  std::fill_n(data_, bytes_, kPoison);
  std::fill_n(behind(), kGuardBytes, kGuard);
  ASAN_POISON_MEMORY_REGION(before(), kGuardBytes);
  ASAN_POISON_MEMORY_REGION(behind(), kGuardBytes);
}

std::string GuardedMemory::check() {
  open_guards();
  const auto touched = [](const std::byte* guard) {
    return std::find_if(guard, guard + kGuardBytes, [](std::byte b) { return b != kGuard; });
  };
  if (const std::byte* hit = touched(before()); hit != data_) {
    return "shared memory was written " + std::to_string(data_ - hit) + " bytes before its begin";
  }
  if (const std::byte* hit = touched(behind()); hit != behind() + kGuardBytes) {
    return "shared memory was written " + std::to_string(hit - behind()) +
           " bytes past its end (the launch asked for " + std::to_string(bytes_) + ")";
  }
  return "";
}

}  // namespace flashmoe::model
