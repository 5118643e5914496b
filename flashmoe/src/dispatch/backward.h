// SPDX-License-Identifier: MIT
// How gradients are computed on a GPU. A pure function: no GPU is needed to ask.
#pragma once

#include <cstddef>
#include <optional>

#include "device/spec.h"
#include "dispatch/plan.h"
#include "problem/forward_problem.h"

namespace flashmoe::dispatch {

enum class BackwardKernel { naive_backward, ampere_backward, hopper_backward };

const char* name_of(BackwardKernel kernel);

struct BackwardPlan {
  BackwardKernel kernel = BackwardKernel::naive_backward;
  int tuning = -1;   // of ampere_backward and hopper_backward: an index into its table
  int head_dim = 0;  // compiled
  int tile_q = 0;
  int tile_kv = 0;
  int threads = 0;  // per block
  int smem_bytes = 0;
  int padded_rows = 0;       // query rows of a head in workspace; with lengths, of all sequences
  int key_tiles = 0;         // per K/V head; with lengths, at most
  unsigned blocks = 0;       // as many as tiles, or fewer persistent ones
  int heads_at_once = 1;     // K/V heads whose tiles of keys interleave
  bool last_first = false;   // the last tile of keys begins
  bool general = false;      // the kernel's form for everything that others have no form for
  bool with_dpairs = false;  // ampere_backward: leaves the attn_mask's gradient too, else another kernel does
  bool deterministic = false;
  // naive_backward: none. Else 4 B Hq padded_rows (head_dim + 2) and 4; 4 more per 4096 sums of dq, if
  // deterministic. With lengths B is 1, and lists of tiles stand behind. With an attn_mask hopper_backward
  // has behind that what dispatch/pair_bits.h says.
  std::size_t workspace_bytes = 0;
  const char* reason = "";  // for this kernel
};

// The lists of tiles that a plan for a problem with lengths needs.
TileLists lists_of(const BackwardPlan& plan);

// What a caller may insist on; tests and benches do.
struct BackwardChoice {
  std::optional<BackwardKernel> kernel{};
  std::optional<int> tuning{};  // of ampere_backward
};

// Throws Error when no kernel takes the problem, or the chosen one does not.
BackwardPlan plan_backward(const ForwardProblem& problem, Addressing addressing, const device::Spec& spec,
                           bool deterministic, const BackwardChoice& choice = {});

// Enough workspace whatever the data pointers turn out to be aligned to.
std::size_t backward_workspace_bytes(const ForwardProblem& problem, const device::Spec& spec,
                                     bool deterministic);

}  // namespace flashmoe::dispatch
