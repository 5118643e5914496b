// SPDX-License-Identifier: MIT
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "workers/native/cache_lines.h"
#include "workers/native/device.h"
#include "workers/serve.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kBufferAlignment = 64;

class CpuDevice : public Device {
 public:
  int kind() const override { return DENT_CPU; }

  void* allocate(std::size_t bytes) override {
    void* memory = std::aligned_alloc(kBufferAlignment,
                                      (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  void free(void* memory) override { std::free(memory); }
  void upload(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }

  // Reads through a system call, which fails for unreadable memory. A direct read of a protected page would
  // run the kernel's signal handler, which could then compute what the call should have computed.
  void download(void* to, const void* from, std::size_t bytes) override {
    for (std::size_t done = 0; done < bytes;) {
      const iovec into{static_cast<std::byte*>(to) + done, bytes - done};
      const iovec source{const_cast<std::byte*>(static_cast<const std::byte*>(from)) + done, bytes - done};
      const ssize_t n = process_vm_readv(getpid(), &into, 1, &source, 1, 0);
      if (n < 0 && (errno == ENOSYS || errno == EPERM)) {  // the system does not support it
        std::memcpy(to, from, bytes);
        return;
      }
      if (n <= 0) {
        throw Refused(FailureKind::cheated, "memory of an input or output can't be read after the call");
      }
      done += static_cast<std::size_t>(n);
    }
  }

  void flush(const std::vector<PreparedCall>& calls) override {
    for (const PreparedCall& call : calls) {
      for (const auto& [memory, bytes] : call.memory) flush_lines(memory, bytes);
    }
  }

  protocol::Timed time(dent_entry entry, const std::vector<PreparedCall>& calls, bool, std::uint64_t lot,
                       const std::function<void(std::size_t call)>& snapshot) override {
    protocol::Timed timed;
    const std::size_t watched = protocol::watched(lot, calls.size());
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const PreparedCall& prepared = calls[c];
      prepared.aim(lot, c);
      const auto start = Clock::now();
      const int status = entry(&prepared.call);
      const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
      if (status != 0) throw std::runtime_error("the kernel returned " + std::to_string(status));
      timed.ns += ns;
      timed.slowest = std::max(timed.slowest, ns);
      if (c == watched) snapshot(c);
    }
    return timed;
  }
};

}  // namespace

std::unique_ptr<Device> make_cpu_device() { return std::make_unique<CpuDevice>(); }

}  // namespace dent
