// SPDX-License-Identifier: MIT
// Timing on a GPU. Each call lies between two events on one stream, behind a memset that pushes everything
// out of the L2 cache; while that runs, the host queues the call, so that launch latency stays outside the
// interval.
//
// The last call of a stretch is also a test of stream order. Its inputs hold NaN until a copy on the stream
// puts the values in place, and its output is copied away on the stream right behind it: work on another
// stream, or work that goes on after the last event, reads NaN or comes too late, and the output shows it.
#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

#include "workers/native/cuda_driver.h"
#include "workers/native/cuda_launches.h"
#include "workers/native/device.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kAttributeL2Bytes = 38;       // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
constexpr int kAttributeSms = 16;           // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr int kAttributeThreadsPerSm = 39;  // CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR
constexpr int kAttributeMajor = 75;         // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int kAttributeMinor = 76;
constexpr unsigned kNonBlocking = 1;         // CU_STREAM_NON_BLOCKING
constexpr unsigned char kNotANumber = 0xFF;  // as every byte: a NaN in each floating type

CuPointer number(const void* memory) { return reinterpret_cast<CuPointer>(memory); }

class CudaDevice : public Device {
 public:
  explicit CudaDevice(bool profiled) : cuda_(CudaDriver::load()), profiled_(profiled) {
    int device = 0;
    CuContext context = nullptr;
    int l2_bytes = 0;
    cuda_.check(cuda_.init(0), "starting the CUDA driver");
    cuda_.check(cuda_.device_get(&device, 0), "finding the GPU");
    cuda_.check(cuda_.primary_retain(&context, device), "making a context on the GPU");
    cuda_.check(cuda_.set_current(context), "making a context on the GPU");
    cuda_.check(cuda_.device_attribute(&l2_bytes, kAttributeL2Bytes, device),
                "asking for the size of the L2 cache");
    cuda_.check(cuda_.stream_create(&stream_, kNonBlocking), "making a stream");
    flush_bytes_ = 2 * static_cast<std::size_t>(std::max(l2_bytes, 1 << 20));
    flush_ = allocate(flush_bytes_);
  }

  int kind() const override { return DENT_CUDA; }
  void* stream() const override { return stream_; }

  void* allocate(std::size_t bytes) override {
    CuPointer pointer = 0;
    cuda_.check(cuda_.allocate(&pointer, std::max<std::size_t>(bytes, 1)), "allocating GPU memory");
    return reinterpret_cast<void*>(pointer);
  }
  void free(void* memory) override { cuda_.free(number(memory)); }

  void upload(void* to, const void* from, std::size_t bytes) override {
    cuda_.check(cuda_.copy_in(number(to), from, bytes), "copying to the GPU");
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    cuda_.check(cuda_.context_synchronize(), "waiting for the GPU");
    cuda_.check(cuda_.copy_out(to, number(from), bytes), "copying from the GPU");
  }
  void download_in_order(void* to, const void* from, std::size_t bytes) override {
    // From the copies that were queued behind the last call; see time().
    for (const auto& [memory, copy] : behind_) {
      if (memory == from) return cuda_.check(cuda_.copy_out(to, number(copy), bytes), "copying from the GPU");
    }
    download(to, from, bytes);
  }

  protocol::Timed time(dent_entry entry, const std::vector<PreparedCall>& calls, bool flush, std::uint64_t,
                       const std::function<void(std::size_t call)>& snapshot) override {
    while (events_.size() < 2 * calls.size()) {
      CuEvent event = nullptr;
      cuda_.check(cuda_.event_create(&event, 0), "making an event");
      events_.push_back(event);
    }
    const PreparedCall& last = calls.back();
    const auto inputs = static_cast<std::size_t>(last.call.num_inputs);
    Scratch scratch(*this);
    std::vector<void*> staged;
    for (std::size_t i = 0; i < inputs; ++i) {
      const auto [memory, bytes] = last.memory[i];
      staged.push_back(scratch.copy_of(memory, bytes));
      cuda_.check(cuda_.fill_async(number(memory), kNotANumber, bytes, stream_), "hiding an input");
    }
    behind_.clear();
    for (std::size_t i = inputs; i < last.memory.size(); ++i) {
      behind_.emplace_back(last.memory[i].first, scratch.space(last.memory[i].second));
    }
    cuda_.check(cuda_.context_synchronize(), "waiting for the GPU");

    for (std::size_t c = 0; c < calls.size(); ++c) {
      const bool is_last = c + 1 == calls.size();
      for (std::size_t i = 0; is_last && i < inputs; ++i) {
        cuda_.check(cuda_.copy_across_async(number(last.memory[i].first), number(staged[i]),
                                            last.memory[i].second, stream_),
                    "putting an input in place");
      }
      if (flush || is_last) {
        cuda_.check(cuda_.fill_async(number(flush_), static_cast<unsigned char>(c), flush_bytes_, stream_),
                    "flushing the L2 cache");
      }
      cuda_.check(cuda_.event_record(events_[2 * c], stream_), "recording an event");
      if (profiled_) cuda_.check(cuda_.profiler_start(), "telling the profiler to start");
      const int status = entry(&calls[c].call);
      if (profiled_) cuda_.check(cuda_.profiler_stop(), "telling the profiler to stop");
      if (status != 0) throw std::runtime_error("the kernel returned " + std::to_string(status));
      cuda_.check(cuda_.event_record(events_[2 * c + 1], stream_), "recording an event");
    }
    for (std::size_t i = inputs; i < last.memory.size(); ++i) {
      cuda_.check(cuda_.copy_across_async(number(behind_[i - inputs].second), number(last.memory[i].first),
                                          last.memory[i].second, stream_),
                  "copying the output");
    }
    cuda_.check(cuda_.stream_synchronize(stream_), "running the kernel");
    const auto stream_done = Clock::now();
    cuda_.check(cuda_.context_synchronize(), "running the kernel");
    protocol::Timed timed;
    timed.drain_ns = std::chrono::duration<double, std::nano>(Clock::now() - stream_done).count();
    for (std::size_t c = 0; c < calls.size(); ++c) {
      float ms = 0;
      cuda_.check(cuda_.event_elapsed(&ms, events_[2 * c], events_[2 * c + 1]), "reading an event");
      const double ns = static_cast<double>(ms) * 1e6;
      timed.ns += ns;
      timed.slowest = std::max(timed.slowest, ns);
    }
    snapshot(calls.size() - 1);
    behind_.clear();
    return timed;
  }

  protocol::Launches launches(dent_entry entry, const PreparedCall& call) override {
    const auto attribute = [this](int which) {
      int value = 0;
      cuda_.check(cuda_.device_attribute(&value, which, 0), "asking what the GPU is");
      return value;
    };
    protocol::Launches found{.sms = attribute(kAttributeSms),
                             .arch = 10 * attribute(kAttributeMajor) + attribute(kAttributeMinor),
                             .warps_per_sm = attribute(kAttributeThreadsPerSm) / 32,
                             .launches = {}};
    found.launches = captured_launches(cuda_, stream_, [&] {
      const int status = entry(&call.call);
      if (status != 0) throw std::runtime_error("the kernel returned " + std::to_string(status));
    });
    return found;
  }

 private:
  // Memory for the length of one stretch.
  class Scratch {
   public:
    explicit Scratch(CudaDevice& device) : device_(device) {}
    ~Scratch() {
      for (void* memory : owned_) device_.free(memory);
    }
    void* space(std::size_t bytes) {
      owned_.push_back(device_.allocate(bytes));
      return owned_.back();
    }
    void* copy_of(const void* memory, std::size_t bytes) {
      void* copy = space(bytes);
      device_.cuda_.check(
          device_.cuda_.copy_across_async(number(copy), number(memory), bytes, device_.stream_),
          "setting an input aside");
      return copy;
    }

   private:
    CudaDevice& device_;
    std::vector<void*> owned_;
  };

  CudaDriver cuda_;
  bool profiled_ = false;
  CuStream stream_ = nullptr;
  void* flush_ = nullptr;
  std::size_t flush_bytes_ = 0;
  std::vector<CuEvent> events_;
  std::vector<std::pair<const void*, void*>> behind_;  // outputs of the last call, and their copies
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(bool profiled) { return std::make_unique<CudaDevice>(profiled); }

}  // namespace dent
