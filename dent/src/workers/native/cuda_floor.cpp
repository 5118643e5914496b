// SPDX-License-Identifier: MIT
#include "workers/native/cuda_floor.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <type_traits>

namespace dent {
namespace {

using Module = void*;
using Function = void*;

constexpr int kRounds = 15;
constexpr int kManyCalls = 65;
// PTX for the oldest GPU that current drivers support; the driver compiles it for the installed GPU.
constexpr const char* kEmptyKernel =
    ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry dent_empty()\n{\n  ret;\n}\n";

class EmptyKernel {
 public:
  EmptyKernel(const CudaDriver& cuda, CuStream stream) : cuda_(cuda), stream_(stream) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    const auto find = [library](auto& function, const char* symbol) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(
          library != nullptr ? dlsym(library, symbol) : nullptr);
      if (function == nullptr) throw std::runtime_error(std::string("the CUDA driver has no ") + symbol);
    };
    int (*load)(Module*, const void*) = nullptr;
    int (*get)(Function*, Module, const char*) = nullptr;
    find(load, "cuModuleLoadData");
    find(get, "cuModuleGetFunction");
    find(launch_, "cuLaunchKernel");
    Module module = nullptr;
    cuda.check(load(&module, kEmptyKernel), "compiling an empty kernel");
    cuda.check(get(&function_, module, "dent_empty"), "finding the empty kernel");
  }

  void launch() const {
    cuda_.check(launch_(function_, 1, 1, 1, 32, 1, 1, 0, stream_, nullptr, nullptr),
                "launching an empty kernel");
  }

 private:
  const CudaDriver& cuda_;
  CuStream stream_;
  Function function_ = nullptr;
  int (*launch_)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CuStream,
                 void**, void**) = nullptr;
};

}  // namespace

ClockFloors measure_floors(const CudaDriver& cuda, const GraphDriver& graphs, CuStream stream,
                           const std::function<void()>& lead_in) {
  const EmptyKernel empty(cuda, stream);
  CuEvent begin = nullptr, end = nullptr;
  cuda.check(cuda.event_create(&begin, 0), "making an event");
  cuda.check(cuda.event_create(&end, 0), "making an event");
  const auto median_ns = [&](const auto& make_ready, const auto& launch) {
    std::array<double, kRounds> times{};
    for (double& ns : times) {
      make_ready();
      lead_in();
      cuda.check(cuda.event_record(begin, stream), "recording an event");
      launch();
      cuda.check(cuda.event_record(end, stream), "recording an event");
      cuda.check(cuda.stream_synchronize(stream), "running an empty kernel");
      float ms = 0;
      cuda.check(cuda.event_elapsed(&ms, begin, end), "reading an event");
      ns = static_cast<double>(ms) * 1e6;
    }
    std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
    return times[kRounds / 2];
  };
  // Each graph is launched once, like those of timed calls.
  const auto chain_ns = [&](int calls) {
    std::optional<CallChain> chain;
    return median_ns(
        [&] {
          chain.emplace(cuda, graphs, stream);
          for (int i = 0; i < calls; ++i) chain->add([&empty] { empty.launch(); });
          chain->make_ready();
        },
        [&] { chain->launch(); });
  };
  empty.launch();  // the first launch loads the kernel
  ClockFloors floors;
  floors.events_ns = median_ns([] {}, [&empty] { empty.launch(); });
  const double one = chain_ns(1), many = chain_ns(kManyCalls);
  floors.graph_ns = std::max(0.0, (many - one) / (kManyCalls - 1));
  floors.graph_start_ns = std::max(0.0, one - floors.graph_ns);
  return floors;
}

}  // namespace dent
