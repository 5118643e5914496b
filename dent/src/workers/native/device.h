// SPDX-License-Identifier: MIT
// Where a native worker's tensors lie and how calls on them are timed.
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
  dent_tensor* inputs = nullptr;                      // those of `call`
  std::vector<bool> with_room;                        // which of them have room to be aimed in

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
  // Within its memory, in the order of stream(). A GPU does it a hundred times as fast as upload().
  virtual bool copies() const { return false; }
  virtual void copy(void*, const void*, std::size_t) {}
  virtual void wait() {}                                   // until all that was queued is done
  virtual void flush(const std::vector<PreparedCall>&) {}  // caches, where that is done before a stretch
  // Calls the entry on each in turn; every call is timed, alone. Right after the timer of one of them has
  // stopped, and before anything else is waited for, `snapshot` is called with its number: on a CPU the one
  // that protocol::watched draws, on a GPU the last. Throws when the entry returns an error.
  // On a CPU each call's inputs are aimed by `lot` when its turn comes; a GPU's inputs come by a stream.
  virtual protocol::Timed time(dent_entry entry, const std::vector<PreparedCall>& calls, bool flush,
                               std::uint64_t lot, const std::function<void(std::size_t call)>& snapshot) = 0;
  // The same on a GPU's second clock: one behind the other in a graph. Where the calls can't be captured they
  // are timed as by time(), and the answer says why.
  virtual protocol::Timed time_in_graph(dent_entry, const std::vector<PreparedCall>&, bool /*flush*/,
                                        const std::function<void(std::size_t)>& /*snapshot*/) {
    throw std::runtime_error("a CPU has no graphs");
  }
  // Which kernels a call launches, without running it, and on what. Throws where there is nothing to tell.
  virtual protocol::Launches launches(dent_entry, const PreparedCall&) {
    throw std::runtime_error("a CPU kernel launches nothing");
  }
  // As download, but ordered only behind what is on stream(): sees what a caller who trusts the stream would
  // see.
  virtual void download_in_order(void* to, const void* from, std::size_t bytes) { download(to, from, bytes); }
};

std::unique_ptr<Device> make_cpu_device();
// Throws when there is none. `profiled`: a profiler watches, and is told which launches are the kernel's.
std::unique_ptr<Device> make_cuda_device(bool profiled = false);

}  // namespace dent
