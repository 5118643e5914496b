// SPDX-License-Identifier: MIT
// How gradients are computed on a GPU. A pure function: no GPU is needed to ask.
#pragma once

#include <cstddef>

#include "device/spec.h"
#include "dispatch/plan.h"
#include "problem/forward_problem.h"

namespace flashmoe::dispatch {

struct BackwardPlan {
  int tuning = -1;   // hopper_backward's
  int head_dim = 0;  // compiled
  int tile_q = 0;
  int tile_kv = 0;
  int smem_bytes = 0;
  int padded_rows = 0;      // query rows of a head in workspace
  int key_tiles = 0;        // per K/V head
  int heads_at_once = 1;    // K/V heads whose tiles of keys interleave
  bool last_first = false;  // the last tile of keys begins
  bool deterministic = false;
  std::size_t workspace_bytes =
      0;  // 4 B Hq padded_rows (head_dim + 2); 4 more per 4096 sums of dq, and 4, if deterministic
};

// Throws Error when no kernel takes the problem.
BackwardPlan plan_backward(const ForwardProblem& problem, Addressing addressing, const device::Spec& spec,
                           bool deterministic);

}  // namespace flashmoe::dispatch
