// SPDX-License-Identifier: MIT
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "workers/native/cache_lines.h"
#include "workers/native/device.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kAlignment = 64;

class CpuDevice : public Device {
 public:
  int kind() const override { return DENT_CPU; }

  void* allocate(std::size_t bytes) override {
    void* memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
  void free(void* memory) override { std::free(memory); }
  void upload(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
  void download(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }

  void flush(const std::vector<PreparedCall>& calls) override {
    for (const PreparedCall& call : calls) {
      for (const auto& [memory, bytes] : call.memory) flush_lines(memory, bytes);
    }
  }

  protocol::Timed time(dent_entry entry, const std::vector<PreparedCall>& calls, bool, std::uint64_t lot,
                       const std::function<void()>& snapshot) override {
    protocol::Timed timed;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const PreparedCall& prepared = calls[c];
      prepared.aim(lot, c);
      const auto start = Clock::now();
      const int status = entry(&prepared.call);
      const double ns = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
      if (status != 0) throw std::runtime_error("the kernel returned " + std::to_string(status));
      timed.ns += ns;
      timed.slowest = std::max(timed.slowest, ns);
    }
    snapshot();
    return timed;
  }
};

}  // namespace

std::unique_ptr<Device> make_cpu_device() { return std::make_unique<CpuDevice>(); }

}  // namespace dent
