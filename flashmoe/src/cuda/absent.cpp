// SPDX-License-Identifier: MIT
// What stands in for the CUDA backend in a build without it.
#include "cuda/backward.h"
#include "cuda/forward.h"

namespace flashmoe::cuda {
namespace {

[[noreturn]] void refuse(const char* call = "attention_forward") {
  throw Error(ErrorCode::unsupported,
              std::string(call) + ": device is cuda, and this build has no CUDA backend",
              "compute on the CPU, or build where nvcc is found");
}

[[noreturn]] void refuse_backward() { refuse("attention_backward"); }

}  // namespace

std::size_t forward_workspace_bytes(const ForwardProblem&) { refuse(); }
dispatch::ForwardPlan plan_forward(const ForwardProblem&, const ForwardArgs&) { refuse(); }
void forward(const dispatch::ForwardPlan&, const ForwardProblem&, const ForwardArgs&, Workspace) { refuse(); }
std::string explain_forward(const ForwardProblem&, const ForwardArgs&) { refuse(); }
std::size_t backward_workspace_bytes(const ForwardProblem&, bool) { refuse_backward(); }
dispatch::BackwardPlan plan_backward(const ForwardProblem&, const BackwardArgs&) { refuse_backward(); }
void backward(const dispatch::BackwardPlan&, const ForwardProblem&, const BackwardArgs&, Workspace) {
  refuse_backward();
}
std::string explain_backward(const ForwardProblem&, const BackwardArgs&) { refuse_backward(); }
void differentiate_sinks(const ForwardProblem&, const BackwardArgs&) { refuse_backward(); }
void fill_zero(const Tensor&, void*) { refuse_backward(); }
bool in_this_build() { return false; }

}  // namespace flashmoe::cuda
