// SPDX-License-Identifier: MIT
// Calls as a graph of the CUDA driver: what they queue is captured instead of run, chained, and launched at
// once.
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

  static GraphDriver load();  // throws where the driver has no such functions
};

class NotCaptured : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What `call` queues on the stream, and on streams that wait for it and that it waits for. The caller
// destroys it. Throws NotCaptured where the call waits for the GPU, leaves work on another stream behind, or
// throws.
CuGraph captured(const CudaDriver& cuda, const GraphDriver& graphs, CuStream stream,
                 const std::function<void()>& call);

std::vector<CuNode> nodes_of(const CudaDriver& cuda, const GraphDriver& graphs, CuGraph graph);

// Calls one after the other. Each is captured by itself and becomes a child of the graph: none begins before
// all that the one before it has queued is done, whatever streams it uses.
class CallChain {
 public:
  CallChain(const CudaDriver& cuda, const GraphDriver& graphs, CuStream stream);
  ~CallChain();
  CallChain(const CallChain&) = delete;
  CallChain& operator=(const CallChain&) = delete;

  void add(const std::function<void()>& call);  // throws NotCaptured
  void make_ready();                            // behind the last add(): what launch() needs is on the GPU
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
