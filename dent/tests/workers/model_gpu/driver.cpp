// SPDX-License-Identifier: MIT
// A CUDA driver without a GPU that a worker loads as libcuda.so.1: memory is the host's, the only kernel is a
// function, and time is simulated, so that clocks can be tested to the nanosecond.
//
// Work that the worker queues on its stream is done at once, or becomes a graph node during a capture. Work
// on other streams is done only when the device is synchronised, which is as late as a GPU may do it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "workers/model_gpu/times.h"

namespace {

using namespace dent::test;

struct Work {
  std::function<void()> happens;
  double ns = 0;
};
struct Graph {
  std::vector<Work> nodes;
};
struct Stream {
  bool is_workers = false;
  bool captured = false, spoiled = false, unjoined = false;
  double now = 0;
  Graph graph;
  std::vector<Work> waiting;
};
struct Event {
  double at = 0;
};

std::vector<Stream*>& streams() {
  static std::vector<Stream*> all;
  return all;
}

constexpr int kStreamCaptureUnsupported = 900, kUnjoined = 904, kCapturedWait = 906;

int queue(void* to, Work work, double cost) {
  auto& stream = *static_cast<Stream*>(to);
  if (stream.captured) {
    stream.graph.nodes.push_back(std::move(work));
  } else if (!stream.is_workers) {
    stream.waiting.push_back(std::move(work));
  } else {
    stream.now += cost + work.ns;
    work.happens();
  }
  return 0;
}

}  // namespace

extern "C" {
#define DRIVER __attribute__((visibility("default")))

// The kernel: y = 2 x.
DRIVER int model_gpu_scale(void* stream, const float* x, float* y, std::int64_t n) {
  return queue(stream,
               {[=] {
                  for (std::int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
                },
                kKernelNs},
               kLaunchNs);
}
// Adds a stream to the capture of this one without joining it.
DRIVER void model_gpu_leave_behind(void* stream) { static_cast<Stream*>(stream)->unjoined = true; }

DRIVER int cuInit(unsigned) { return 0; }
DRIVER int cuDeviceGet(int* device, int) { return *device = 0; }
DRIVER int cuDeviceGetAttribute(int* value, int, int) { return *value = 1 << 20, 0; }
DRIVER int cuDevicePrimaryCtxRetain(void** context, int) { return *context = nullptr, 0; }
DRIVER int cuCtxSetCurrent(void*) { return 0; }
DRIVER int cuCtxSynchronize() {
  for (Stream* stream : streams()) {
    if (stream->captured) return stream->spoiled = true, kStreamCaptureUnsupported;
    for (const Work& work : stream->waiting) work.happens();
    stream->waiting.clear();
  }
  return 0;
}
DRIVER int cuMemAlloc_v2(std::uint64_t* memory, std::size_t bytes) {
  *memory = reinterpret_cast<std::uint64_t>(std::malloc(bytes));
  return 0;
}
DRIVER int cuMemFree_v2(std::uint64_t memory) { return std::free(reinterpret_cast<void*>(memory)), 0; }
DRIVER int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
DRIVER int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0;
}
DRIVER int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, void* stream) {
  return queue(stream,
               {[=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); }, 0},
               0);
}
DRIVER int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, void* stream) {
  return queue(stream, {[=] { std::memset(reinterpret_cast<void*>(to), value, bytes); }, 0}, 0);
}
DRIVER int cuStreamCreate(void** stream, unsigned) {
  auto* made = new Stream;
  made->is_workers = streams().empty();  // it is created before any kernel runs
  streams().push_back(made);
  return *stream = made, 0;
}
DRIVER int cuStreamSynchronize(void* stream) {
  if (static_cast<Stream*>(stream)->captured)
    return static_cast<Stream*>(stream)->spoiled = true, kCapturedWait;
  return 0;
}
DRIVER int cuEventCreate(void** event, unsigned) { return *event = new Event, 0; }
DRIVER int cuEventRecord(void* event, void* stream) {
  static_cast<Event*>(event)->at = static_cast<Stream*>(stream)->now += kEventNs;
  return 0;
}
DRIVER int cuEventSynchronize(void*) { return 0; }
DRIVER int cuEventElapsedTime(float* ms, void* begin, void* end) {
  *ms = static_cast<float>((static_cast<Event*>(end)->at - static_cast<Event*>(begin)->at) * 1e-6);
  return 0;
}
DRIVER int cuGetErrorString(int, const char** words) { return *words = "refused by the model", 0; }
DRIVER int cuProfilerStart() { return 0; }
DRIVER int cuProfilerStop() { return 0; }

DRIVER int cuStreamBeginCapture_v2(void* stream, int) {
  auto& captured = *static_cast<Stream*>(stream);
  captured.captured = true;
  captured.spoiled = captured.unjoined = false;
  captured.graph = {};
  return 0;
}
DRIVER int cuStreamEndCapture(void* stream, void** graph) {
  auto& captured = *static_cast<Stream*>(stream);
  captured.captured = false;
  *graph = nullptr;
  if (captured.spoiled) return kStreamCaptureUnsupported;
  if (captured.unjoined) return kUnjoined;
  *graph = new Graph(captured.graph);
  return 0;
}
DRIVER int cuGraphGetNodes(void* graph, void**, std::size_t* count) {
  *count = static_cast<Graph*>(graph)->nodes.size();
  return 0;
}
DRIVER int cuGraphCreate(void** graph, unsigned) { return *graph = new Graph, 0; }
DRIVER int cuGraphAddChildGraphNode(void** node, void* graph, void* const*, std::size_t, void* child) {
  auto& nodes = static_cast<Graph*>(graph)->nodes;
  for (const Work& work : static_cast<Graph*>(child)->nodes) nodes.push_back(work);
  return *node = graph, 0;
}
DRIVER int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  return *exec = new Graph(*static_cast<Graph*>(graph)), 0;
}
DRIVER int cuGraphUpload(void*, void*) { return 0; }
DRIVER int cuGraphLaunch(void* exec, void* stream) {
  auto& on = *static_cast<Stream*>(stream);
  on.now += kGraphNs;
  for (const Work& work : static_cast<Graph*>(exec)->nodes) {
    on.now += kNodeNs + work.ns;
    work.happens();
  }
  return 0;
}
DRIVER int cuGraphExecDestroy(void* exec) { return delete static_cast<Graph*>(exec), 0; }
DRIVER int cuGraphDestroy(void* graph) { return delete static_cast<Graph*>(graph), 0; }
DRIVER int cuModuleLoadData(void** module, const void*) { return *module = nullptr, 0; }
DRIVER int cuModuleGetFunction(void** function, void*, const char*) { return *function = nullptr, 0; }
DRIVER int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          void* stream, void**, void**) {
  return queue(stream, {[] {}, 0}, kLaunchNs);
}
}
