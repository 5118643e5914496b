// SPDX-License-Identifier: MIT
// Calls the API with a backward problem.
#pragma once

#include <algorithm>
#include <memory>
#include <new>

#include "flashmoe/attention.h"
#include "support/backward_problem.h"

namespace flashmoe::test {

inline BackwardArgs arguments_of(const BackwardProblem& problem, bool deterministic = false) {
  const ForwardArgs& forward = problem.forward.args;
  return {.q = forward.q,
          .k = forward.k,
          .v = forward.v,
          .out = forward.out,
          .lse = forward.lse,
          .dout = problem.dout,
          .dlse = problem.dlse(),
          .dq = problem.dq,
          .dk = problem.dk,
          .dv = problem.dv,
          .mask = forward.mask,
          .scale = forward.scale,
          .deterministic = deterministic,
          .execution = forward.execution,
          .window = forward.window,
          .lengths = forward.lengths,
          .spans = forward.spans,
          .scores = forward.scores,
          .dsinks = problem.dsinks(),
          .dattn_mask = problem.dattn_mask(),
          .dropout = forward.dropout};
}

// Uses a new workspace of exactly the requested size, full of NaN, so that sanitizers report the first byte
// past its end.
inline void run_backward(const BackwardArgs& args) {
  const std::size_t bytes = backward_workspace_bytes(args);
  const auto free = [](void* p) { ::operator delete (p, std::align_val_t{kWorkspaceAlignment}); };
  const std::unique_ptr<void, decltype(free)> space(
      ::operator new (bytes, std::align_val_t{kWorkspaceAlignment}), free);
  std::fill_n(static_cast<std::byte*>(space.get()), bytes, std::byte{0xFF});
  attention_backward(args, {space.get(), bytes});
}

}  // namespace flashmoe::test
