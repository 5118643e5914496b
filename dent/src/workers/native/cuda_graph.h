// SPDX-License-Identifier: MIT
// Calls as one CUDA graph: what they queue is captured instead of run, chained, and launched together.
#pragma once

#include <functional>
#include <stdexcept>
#include <vector>

#include "workers/native/cuda_driver.h"

namespace dent {

using CuGraph = void*;
using CuNode = void*;
using CuGraphExec = void*;

struct GraphDriver {
  int (*begin_capture)(CuStream, int);
  int (*end_capture)(CuStream, CuGraph*);
  int (*get_nodes)(CuGraph, CuNode*, std::size_t*);
  int (*create)(CuGraph*, unsigned);
  int (*add_child)(CuNode*, CuGraph, const CuNode*, std::size_t, CuGraph);
  int (*instantiate)(CuGraphExec*, CuGraph, unsigned long long);
  int (*upload)(CuGraphExec, CuStream);
  int (*launch)(CuGraphExec, CuStream);
  int (*destroy_exec)(CuGraphExec);
  int (*destroy)(CuGraph);

  static GraphDriver load();  // throws if the driver lacks these functions
};

class NotCaptured : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Captures what `call` queues on the stream and on streams synchronised with it. The caller destroys the
// graph. Throws NotCaptured if the call waits for the GPU, leaves unjoined work on another stream, or throws.
CuGraph captured(const CudaDriver& cuda, const GraphDriver& graphs, CuStream stream,
                 const std::function<void()>& call);

std::vector<CuNode> nodes_of(const CudaDriver& cuda, const GraphDriver& graphs, CuGraph graph);

// A chain of calls. Each is captured separately and becomes a child node of the graph, so that none begins
// before all work of the previous one is done, on whatever streams.
class CallChain {
 public:
  CallChain(const CudaDriver& cuda, const GraphDriver& graphs, CuStream stream);
  ~CallChain();
  CallChain(const CallChain&) = delete;
  CallChain& operator=(const CallChain&) = delete;

  void add(const std::function<void()>& call);  // throws NotCaptured
  void make_ready();                            // after the last add(): uploads the graph to the GPU
  void launch();

 private:
  const CudaDriver& cuda_;
  const GraphDriver& graphs_;
  CuStream stream_;
  CuGraph whole_ = nullptr;
  CuNode last_ = nullptr;
  CuGraphExec exec_ = nullptr;
};

}  // namespace dent
