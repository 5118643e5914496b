// SPDX-License-Identifier: MIT
// Where a native worker's tensors are stored, and how calls on them are timed.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "dent/kernel.h"
#include "workers/messages.h"
#include "workers/protocol.h"

namespace dent {

struct PreparedCall {
  dent_call call{};
  std::vector<std::pair<void*, std::size_t>> memory;  // what it reads and writes, for flushing
  dent_tensor* inputs = nullptr;                      // the inputs of `call`
  std::vector<bool> with_room;                        // per input: whether it has room for aim()

  // Points every input at its window; see protocol::aim. Inputs come first in `memory`.
  void aim(std::uint64_t lot, std::size_t number) const {
    for (int i = 0; i < call.num_inputs; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::size_t window = with_room[at] ? protocol::aim(lot, number, at) : 0;
      inputs[i].data = static_cast<std::byte*>(memory[at].first) + window;
    }
  }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual int kind() const = 0;                     // DENT_CPU, DENT_CUDA
  virtual void* stream() const { return nullptr; }  // CUDA
  virtual void* allocate(std::size_t bytes) = 0;    // aligned to 64 bytes or better
  virtual void free(void* memory) = 0;
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;
  // Copies within the device's memory, in the order of stream(). On a GPU a hundred times as fast as
  // upload().
  virtual bool copies() const { return false; }
  virtual void copy(void*, const void*, std::size_t) {}
  virtual void wait() {}                                   // until all queued work is done
  virtual void flush(const std::vector<PreparedCall>&) {}  // flushes caches, if that is done before a batch
  // Calls the entry on each in turn and times each call separately. For one call, `snapshot` is called with
  // its number right after its timer has stopped and before anything else is waited for: on a CPU the call
  // that protocol::watched draws, on a GPU the last. Throws if the entry returns an error.
  // On a CPU, `lot` determines each call's windows when its turn comes; on a GPU, copies on the stream
  // deliver inputs.
  virtual protocol::Timed time(dent_entry entry, const std::vector<PreparedCall>& calls, bool flush,
                               std::uint64_t lot, const std::function<void(std::size_t call)>& snapshot) = 0;
  // GPU only: times all calls in one graph. If they can't be captured, times them like time() and says why.
  virtual protocol::Timed time_in_graph(dent_entry, const std::vector<PreparedCall>&, bool /*flush*/,
                                        const std::function<void(std::size_t)>& /*snapshot*/) {
    throw std::runtime_error("calls on a CPU can't be timed in a graph");
  }
  // Which kernels a call launches, without running it, and the GPU's properties. Throws if that can't be
  // found out.
  virtual protocol::Launches launches(dent_entry, const PreparedCall&) {
    throw std::runtime_error("a CPU kernel has no GPU launches");
  }
  // Downloads in stream order only: sees what code that relies on stream() alone would see.
  virtual void download_in_order(void* to, const void* from, std::size_t bytes) { download(to, from, bytes); }
};

std::unique_ptr<Device> make_cpu_device();
// Throws if there is no GPU. `profiled`: a profiler is attached, and is told which launches are the kernel's.
std::unique_ptr<Device> make_cuda_device(bool profiled = false);

}  // namespace dent
