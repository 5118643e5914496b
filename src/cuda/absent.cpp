// SPDX-License-Identifier: MIT
// What stands in for the CUDA backend in a build without it.
#include "cuda/forward.h"

namespace flashmoe::cuda {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::unsupported, "attention_forward: device is cuda, and this build has no CUDA backend",
              "compute on the CPU, or build where nvcc is found");
}

}  // namespace

std::size_t forward_workspace_bytes(const ForwardProblem&) { refuse(); }
dispatch::ForwardPlan plan_forward(const ForwardProblem&, const ForwardArgs&) { refuse(); }
void forward(const dispatch::ForwardPlan&, const ForwardProblem&, const ForwardArgs&, Workspace) { refuse(); }
std::string explain_forward(const ForwardProblem&, const ForwardArgs&) { refuse(); }
bool in_this_build() { return false; }

}  // namespace flashmoe::cuda
