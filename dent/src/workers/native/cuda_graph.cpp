// SPDX-License-Identifier: MIT
#include "workers/native/cuda_graph.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace dent {
namespace {

constexpr int kRelaxedCapture = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

}  // namespace

GraphDriver GraphDriver::load() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  const auto find = [library](auto& function, const char* symbol) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(library != nullptr ? dlsym(library, symbol)
                                                                                     : nullptr);
    if (function == nullptr) throw std::runtime_error(std::string("the CUDA driver has no ") + symbol);
  };
  GraphDriver graphs{};
  find(graphs.begin_capture, "cuStreamBeginCapture_v2");
  find(graphs.end_capture, "cuStreamEndCapture");
  find(graphs.get_nodes, "cuGraphGetNodes");
  find(graphs.create, "cuGraphCreate");
  find(graphs.add_child, "cuGraphAddChildGraphNode");
  find(graphs.instantiate, "cuGraphInstantiateWithFlags");
  find(graphs.upload, "cuGraphUpload");
  find(graphs.launch, "cuGraphLaunch");
  find(graphs.destroy_exec, "cuGraphExecDestroy");
  find(graphs.destroy, "cuGraphDestroy");
  return graphs;
}

CuGraph captured(const CudaDriver& cuda, const GraphDriver& graphs, CuStream stream,
                 const std::function<void()>& call) {
  cuda.check(graphs.begin_capture(stream, kRelaxedCapture), "beginning a capture");
  std::string problem;
  try {
    call();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  CuGraph graph = nullptr;
  const int ended = graphs.end_capture(stream, &graph);  // always: ends capture mode
  try {
    cuda.check(ended, "capturing the call");
  } catch (const std::exception& error) {
    if (problem.empty()) problem = error.what();
  }
  if (problem.empty()) return graph;
  if (graph != nullptr) graphs.destroy(graph);
  throw NotCaptured(problem);
}

std::vector<CuNode> nodes_of(const CudaDriver& cuda, const GraphDriver& graphs, CuGraph graph) {
  std::size_t count = 0;
  cuda.check(graphs.get_nodes(graph, nullptr, &count), "counting nodes");
  std::vector<CuNode> nodes(count);
  if (count > 0) cuda.check(graphs.get_nodes(graph, nodes.data(), &count), "listing nodes");
  return nodes;
}

CallChain::CallChain(const CudaDriver& cuda, const GraphDriver& graphs, CuStream stream)
    : cuda_(cuda), graphs_(graphs), stream_(stream) {
  cuda_.check(graphs_.create(&whole_, 0), "making a graph");
}

CallChain::~CallChain() {
  if (exec_ != nullptr) graphs_.destroy_exec(exec_);
  graphs_.destroy(whole_);
}

void CallChain::add(const std::function<void()>& call) {
  const CuGraph graph = captured(cuda_, graphs_, stream_, call);
  // A call that queues nothing is not part of the chain; its outputs will be wrong.
  const bool empty = nodes_of(cuda_, graphs_, graph).empty();
  CuNode node = nullptr;
  const int status =
      empty ? 0
            : graphs_.add_child(&node, whole_, &last_, last_ == nullptr ? 0 : 1, graph);  // copies `graph`
  graphs_.destroy(graph);
  try {
    cuda_.check(status, "putting a call into a graph");
  } catch (const std::exception& problem) {
    throw NotCaptured(problem.what());  // for example for memory that the call allocates in stream order
  }
  if (!empty) last_ = node;
}

void CallChain::make_ready() {
  cuda_.check(graphs_.instantiate(&exec_, whole_, 0), "making a graph ready");
  cuda_.check(graphs_.upload(exec_, stream_), "sending a graph to the GPU");
}

void CallChain::launch() { cuda_.check(graphs_.launch(exec_, stream_), "launching a graph"); }

}  // namespace dent
