// SPDX-License-Identifier: MIT
#include "workers/native/cuda_launches.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "workers/native/cuda_graph.h"

namespace dent {
namespace {

using Function = void*;

// Constants and struct layouts as documented for the CUDA driver API.
constexpr int kKernelNode = 0;
constexpr int kSharedBytes = 1, kLocalBytes = 3, kRegisters = 4;
struct KernelNode {
  Function function;
  unsigned grid[3], block[3], dynamic_smem;
  void** parameters;
  void** extra;
  void* kernel;  // replaces `function` if the kernel is in a library
  void* context;
};

struct NodeDriver {
  int (*node_type)(CuNode, int*);
  int (*kernel_node)(CuNode, KernelNode*);
  int (*function_attribute)(int*, int, Function);
  int (*function_name)(const char**, Function);
  int (*function_of)(Function*, void*);
  int (*blocks_per_sm)(int*, Function, int, std::size_t);
};

NodeDriver load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  const auto find = [library](auto& function, const char* symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(library != nullptr ? dlsym(library, symbol)
                                                                                     : nullptr);
    if (function == nullptr) throw std::runtime_error(std::string("the CUDA driver has no ") + symbol);
  };
  NodeDriver api{};
  find(api.node_type, "cuGraphNodeGetType");
  find(api.kernel_node, "cuGraphKernelNodeGetParams_v2");
  find(api.function_attribute, "cuFuncGetAttribute");
  find(api.function_name, "cuFuncGetName");
  find(api.function_of, "cuKernelGetFunction");
  find(api.blocks_per_sm, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  return api;
}

protocol::GpuLaunch describe(const CudaDriver& cuda, const NodeDriver& api, CuNode node) {
  KernelNode launch{};
  cuda.check(api.kernel_node(node, &launch), "reading a kernel node");
  Function function = launch.function;
  if (function == nullptr) cuda.check(api.function_of(&function, launch.kernel), "finding a kernel");
  const auto attribute = [&](int which) {
    int value = 0;
    cuda.check(api.function_attribute(&value, which, function), "asking for a kernel's resources");
    return value;
  };
  const char* name = "";
  cuda.check(api.function_name(&name, function), "asking for a kernel's name");
  const unsigned threads = launch.block[0] * launch.block[1] * launch.block[2];
  int fit = 0;
  cuda.check(api.blocks_per_sm(&fit, function, static_cast<int>(threads), launch.dynamic_smem),
             "asking for the occupancy");
  return {.kernel = name,
          .ctas = static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2],
          .cta_threads = static_cast<double>(threads),
          .registers = static_cast<double>(attribute(kRegisters)),
          .smem_bytes = static_cast<double>(attribute(kSharedBytes)) + launch.dynamic_smem,
          .local_bytes = static_cast<double>(attribute(kLocalBytes)),
          .ctas_per_sm = static_cast<double>(fit)};
}

}  // namespace

std::vector<protocol::GpuLaunch> captured_launches(const CudaDriver& cuda, CuStream stream,
                                                   const std::function<void()>& call) {
  const GraphDriver graphs = GraphDriver::load();
  const NodeDriver api = load();
  CuGraph graph = nullptr;
  try {
    graph = captured(cuda, graphs, stream, call);
  } catch (const NotCaptured& problem) {
    throw std::runtime_error(std::string("the call can't be captured: ") + problem.what());
  }
  std::vector<protocol::GpuLaunch> launches;
  for (const CuNode node : nodes_of(cuda, graphs, graph)) {
    int type = -1;
    cuda.check(api.node_type(node, &type), "asking for a node's type");
    if (type == kKernelNode) launches.push_back(describe(cuda, api, node));
  }
  graphs.destroy(graph);
  return launches;
}

}  // namespace dent
