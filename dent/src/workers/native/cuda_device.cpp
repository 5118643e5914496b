// SPDX-License-Identifier: MIT
// Timing on a GPU. Each call is between two events on one stream, after a memset that flushes the L2 cache;
// while the memset runs, the host queues the call, so that launch latency is not timed.
//
// The last call of a batch also tests stream order. Its inputs hold NaN until a copy on the stream writes the
// values, and its output is copied away on the stream right after the call. Work on another stream, or work
// that continues after the last event, reads NaN or comes too late, and the output shows it.
//
// For a short kernel, two events read mostly their own cost. So there is a second clock: all calls of a batch
// in one graph that is launched between two events. Each call is captured while its inputs hold NaN and
// before its outputs are poisoned: what it does immediately, instead of queueing it, works on NaN and is
// overwritten. The graph, not the kernel, puts the calls in order.
#include <algorithm>
#include <chrono>
#include <list>
#include <optional>
#include <stdexcept>
#include <string>

#include "workers/native/cuda_driver.h"
#include "workers/native/cuda_floor.h"
#include "workers/native/cuda_graph.h"
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
constexpr unsigned char kNotANumber = 0xFF;  // in every byte: a NaN in each floating-point type

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
    l2_bytes_ = static_cast<std::size_t>(std::max(l2_bytes, 1 << 20));
    flush_bytes_ = 2 * l2_bytes_;
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

  void wait() override { cuda_.check(cuda_.context_synchronize(), "waiting for the GPU"); }
  void upload(void* to, const void* from, std::size_t bytes) override {
    cuda_.check(cuda_.copy_in(number(to), from, bytes), "copying to the GPU");
  }
  bool copies() const override { return true; }
  void copy(void* to, const void* from, std::size_t bytes) override {
    copy_across(number(to), number(from), bytes);
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    wait();
    cuda_.check(cuda_.copy_out(to, number(from), bytes), "copying from the GPU");
  }
  void download_in_order(void* to, const void* from, std::size_t bytes) override {
    // Uses the copies that were queued right after the last call; see time().
    for (const auto& [memory, copy] : behind_) {
      if (memory == from) return cuda_.check(cuda_.copy_out(to, number(copy), bytes), "copying from the GPU");
    }
    download(to, from, bytes);
  }

  protocol::Timed time(dent_entry entry, const std::vector<PreparedCall>& calls, bool flush, std::uint64_t,
                       const std::function<void(std::size_t call)>& snapshot) override {
    make_events(2 * calls.size());
    const PreparedCall& last = calls.back();
    const auto inputs = static_cast<std::size_t>(last.call.num_inputs);
    Scratch scratch(*this);
    std::vector<void*> staged;
    for (std::size_t i = 0; i < inputs; ++i) {
      const auto [memory, bytes] = last.memory[i];
      staged.push_back(scratch.copy_of(memory, bytes));
      cuda_.check(cuda_.fill_async(number(memory), kNotANumber, bytes, stream_), "hiding an input");
    }
    make_room_behind(last);
    wait();

    protocol::Timed timed{.clock = TimedBy::events, .floor_ns = floors_ ? floors_->events_ns : 0};
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const bool is_last = c + 1 == calls.size();
      for (std::size_t i = 0; is_last && i < inputs; ++i) {
        cuda_.check(cuda_.copy_across_async(number(last.memory[i].first), number(staged[i]),
                                            last.memory[i].second, stream_),
                    "putting an input in place");
      }
      if (flush || is_last) flush_l2(c);
      cuda_.check(cuda_.event_record(events_[2 * c], stream_), "recording an event");
      if (profiled_) cuda_.check(cuda_.profiler_start(), "telling the profiler to start");
      const auto called = Clock::now();
      const int status = entry(&calls[c].call);
      timed.host_ns += ns_since(called);
      if (profiled_) cuda_.check(cuda_.profiler_stop(), "telling the profiler to stop");
      if (status != 0) throw std::runtime_error("the kernel returned " + std::to_string(status));
      cuda_.check(cuda_.event_record(events_[2 * c + 1], stream_), "recording an event");
    }
    copy_behind(last);
    timed.drain_ns = wait_for_all();
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const double ns = between_events(c);
      timed.ns += ns;
      timed.slowest = std::max(timed.slowest, ns);
    }
    snapshot(calls.size() - 1);
    return timed;
  }

  protocol::Timed time_in_graph(dent_entry entry, const std::vector<PreparedCall>& calls, bool flush,
                                const std::function<void(std::size_t call)>& snapshot) override {
    std::string problem;
    Scratch scratch(*this);
    SetAside aside(*this, scratch, calls);
    std::list<Part> parts;
    try {
      measure_floors_once();
      aside.hide();
      wait();
      parts = captured_parts(entry, calls, flush);
    } catch (const NotCaptured& reason) {
      problem = reason.what();
    }
    // Work that a call did immediately has ended by now, and it saw no inputs.
    wait();
    if (!problem.empty()) {
      aside.put_back(0, calls.size());
      protocol::Timed timed = time(entry, calls, flush, 0, snapshot);
      timed.not_captured = problem;
      return timed;
    }
    make_events(2 * parts.size());
    make_room_behind(calls.back());
    std::size_t p = 0;
    for (Part& part : parts) {
      aside.put_back(part.first, part.calls);  // also brings the values into the L2 cache
      if (flush) flush_l2(p);
      cuda_.check(cuda_.event_record(events_[2 * p], stream_), "recording an event");
      part.chain->launch();
      cuda_.check(cuda_.event_record(events_[2 * p + 1], stream_), "recording an event");
      ++p;
    }
    copy_behind(calls.back());
    protocol::Timed timed{.clock = TimedBy::graph, .floor_ns = floors_->graph_ns};
    timed.drain_ns = wait_for_all();
    p = 0;
    for (const Part& part : parts) {
      // A kernel takes at least as long as an empty one.
      const auto count = static_cast<double>(part.calls);
      const double ns = std::max(between_events(p++) - floors_->graph_start_ns, count * floors_->graph_ns);
      timed.ns += ns;
      timed.slowest = std::max(timed.slowest, ns / count);
    }
    snapshot(calls.size() - 1);
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
  // Memory that lives as long as one batch.
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

  // Saves and hides the memory of a batch's calls while they are captured.
  class SetAside {
   public:
    SetAside(CudaDevice& device, Scratch& scratch, const std::vector<PreparedCall>& calls)
        : device_(device), calls_(calls) {
      std::size_t bytes = 0;
      for (const PreparedCall& call : calls) {
        for (const auto& piece : call.memory) {
          places_.push_back(bytes);
          bytes += (piece.second + kAlignment - 1) / kAlignment * kAlignment;
        }
      }
      copy_ = number(scratch.space(bytes));
    }

    void hide() {
      hidden_ = true;
      each(0, calls_.size(), [this](CuPointer memory, CuPointer copy, std::size_t bytes) {
        device_.copy_across(copy, memory, bytes);
        device_.cuda_.check(device_.cuda_.fill_async(memory, kNotANumber, bytes, device_.stream_),
                            "hiding a call's memory");
      });
    }

    void put_back(std::size_t first, std::size_t count) {
      if (!hidden_) return;
      each(first, count, [this](CuPointer memory, CuPointer copy, std::size_t bytes) {
        device_.copy_across(memory, copy, bytes);
      });
    }

   private:
    static constexpr std::size_t kAlignment = 256;

    template <class Do>
    void each(std::size_t first, std::size_t count, Do act) {
      const std::size_t pieces = calls_.front().memory.size();  // equal for every call
      for (std::size_t c = first; c < first + count; ++c) {
        for (std::size_t i = 0; i < pieces; ++i) {
          const auto& [memory, bytes] = calls_[c].memory[i];
          act(number(memory), copy_ + places_[c * pieces + i], bytes);
        }
      }
    }

    CudaDevice& device_;
    const std::vector<PreparedCall>& calls_;
    std::vector<std::size_t> places_;
    CuPointer copy_ = 0;
    bool hidden_ = false;
  };

  // Consecutive calls that are launched as one graph.
  struct Part {
    std::size_t first = 0, calls = 0;
    std::unique_ptr<CallChain> chain;
  };

  // With flushed caches one graph is enough: each call has its own memory, and none of it is cached. With
  // warm caches a graph holds as many calls as fit into the L2 cache.
  std::list<Part> captured_parts(dent_entry entry, const std::vector<PreparedCall>& calls, bool flush) {
    std::size_t bytes = 1;
    for (const auto& piece : calls.front().memory) bytes += piece.second;
    const std::size_t most = flush ? calls.size() : std::max<std::size_t>(1, l2_bytes_ / 2 / bytes);
    std::list<Part> parts;
    for (std::size_t c = 0; c < calls.size(); ++c) {
      if (c % most == 0) parts.push_back({c, 0, std::make_unique<CallChain>(cuda_, *graphs_, stream_)});
      Part& part = parts.back();
      part.chain->add([&] {
        const int status = entry(&calls[c].call);
        if (status != 0)
          throw std::runtime_error("while it was captured, the kernel returned " + std::to_string(status));
      });
      ++part.calls;
    }
    for (Part& part : parts) part.chain->make_ready();
    return parts;
  }

  void measure_floors_once() {
    if (floors_) return;
    try {
      graphs_ = GraphDriver::load();
      floors_ = measure_floors(cuda_, *graphs_, stream_, [this] { flush_l2(0); });
    } catch (const std::exception& problem) {
      throw NotCaptured(problem.what());
    }
  }

  static double ns_since(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }

  void make_events(std::size_t count) {
    while (events_.size() < count) {
      CuEvent event = nullptr;
      cuda_.check(cuda_.event_create(&event, 0), "making an event");
      events_.push_back(event);
    }
  }

  double between_events(std::size_t pair) {
    float ms = 0;
    cuda_.check(cuda_.event_elapsed(&ms, events_[2 * pair], events_[2 * pair + 1]), "reading an event");
    return static_cast<double>(ms) * 1e6;
  }

  void flush_l2(std::size_t value) {
    cuda_.check(cuda_.fill_async(number(flush_), static_cast<unsigned char>(value), flush_bytes_, stream_),
                "flushing the L2 cache");
  }

  void copy_across(CuPointer to, CuPointer from, std::size_t bytes) {
    cuda_.check(cuda_.copy_across_async(to, from, bytes, stream_), "copying on the GPU");
  }

  // Allocates copies of the last call's outputs, which are made on the stream after it. They stay until the
  // next batch, since they are seldom read.
  void make_room_behind(const PreparedCall& last) {
    behind_.clear();
    room_behind_.emplace(*this);
    for (auto i = static_cast<std::size_t>(last.call.num_inputs); i < last.memory.size(); ++i) {
      behind_.emplace_back(last.memory[i].first, room_behind_->space(last.memory[i].second));
    }
  }

  void copy_behind(const PreparedCall& last) {
    const auto inputs = static_cast<std::size_t>(last.call.num_inputs);
    for (std::size_t i = inputs; i < last.memory.size(); ++i) {
      copy_across(number(behind_[i - inputs].second), number(last.memory[i].first), last.memory[i].second);
    }
  }

  // How much longer the whole GPU works than the stream.
  double wait_for_all() {
    cuda_.check(cuda_.stream_synchronize(stream_), "running the kernel");
    const auto stream_done = Clock::now();
    cuda_.check(cuda_.context_synchronize(), "running the kernel");
    return ns_since(stream_done);
  }

  CudaDriver cuda_;
  std::optional<GraphDriver> graphs_;
  std::optional<ClockFloors> floors_;
  bool profiled_ = false;
  CuStream stream_ = nullptr;
  void* flush_ = nullptr;
  std::size_t l2_bytes_ = 0, flush_bytes_ = 0;
  std::vector<CuEvent> events_;
  std::vector<std::pair<const void*, void*>> behind_;  // outputs of the last call, and their copies
  std::optional<Scratch> room_behind_;
};

}  // namespace

std::unique_ptr<Device> make_cuda_device(bool profiled) { return std::make_unique<CudaDevice>(profiled); }

}  // namespace dent
