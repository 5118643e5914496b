// SPDX-License-Identifier: MIT
#include "system/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010  // Linux 5.1; older C libraries lack it
#endif

namespace dent {

SharedMemory::SharedMemory(const char* name, std::size_t bytes, Children children) : bytes_(bytes) {
  const auto fail = [&](const char* call) {
    const std::string why = std::strerror(errno);
    throw Error(ErrorCode::environment, std::string("can't allocate ") + std::to_string(bytes) +
                                            " bytes of shared memory for " + name + ": " + call + ": " + why);
  };
  descriptor_ = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor_ < 0) fail("memfd_create");
  if (ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) fail("ftruncate");
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_, 0);
  if (mapped == MAP_FAILED) fail("mmap");
  data_ = static_cast<std::byte*>(mapped);
  // The mapping above stays writable, but processes that inherit the descriptor can only map it read-only.
  const int size = F_SEAL_GROW | F_SEAL_SHRINK;
  if (children == Children::only_read &&
      fcntl(descriptor_, F_ADD_SEALS, size | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0) {
    return;
  }
  // Some sandboxes, and Linux before 5.1, lack that seal. A worker could then write into the pool; dent still
  // measures there.
  fcntl(descriptor_, F_ADD_SEALS, size | F_SEAL_SEAL);
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace dent
