// SPDX-License-Identifier: MIT
// Which kernel computes a problem on a GPU, cut how, and why. A pure function: no GPU is needed to ask.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "device/spec.h"
#include "dispatch/sequence_tiles.h"
#include "problem/forward_problem.h"

namespace flashmoe::dispatch {

enum class ForwardKernel { naive, ampere_forward, hopper_forward, small_forward, decode_forward };

const char* name_of(ForwardKernel kernel);

enum class ProgrammaticLaunch { off, on, not_by_this_kernel, not_on_this_gpu };

// Blocks that may share the keys of one tile.
inline constexpr int kMaxSplits = 128;

struct ForwardPlan {
  ForwardKernel kernel = ForwardKernel::naive;
  bool aligned = true;  // rows are whole pieces of 16 bytes
  int head_dim = 0;     // compiled
  int tile_q = 0;
  int tile_kv = 0;
  int threads = 0;
  int smem_bytes = 0;
  int tuning = -1;          // which of the kernel's configurations, where it has a table of them
  int pack = 1;             // query heads that one tile treats as one matrix
  int heads_at_once = 1;    // heads whose tiles interleave
  bool last_first = false;  // the last row of tiles begins
  int num_splits = 1;       // blocks that share the keys of one tile
  int cluster = 1;          // blocks that share the keys of one tile and merge without a second kernel
  unsigned tiles = 0;       // of query rows, over all heads
  unsigned blocks = 0;      // per split and rank in the cluster; as many as tiles, or fewer persistent ones
  std::size_t workspace_bytes = 0;
  ProgrammaticLaunch programmatic = ProgrammaticLaunch::off;
  const char* reason = "";  // for this kernel
};

// The list of tiles that a plan for a problem with lengths needs.
TileLists lists_of(const ForwardPlan& plan);

// What a plan needs to know of pointers and strides.
struct Addressing {
  bool aligned;  // every row of q, k, v and out begins at a multiple of 16 bytes
  bool tma;      // and TMA takes their strides: positive, where a dimension has more than one element, and
                 // below 2^40 bytes

  Addressing(bool all)
      : aligned(all), tma(all) {}  // NOLINT: either as most tensors are, or nothing of the kind
  Addressing(bool rows_aligned, bool tma_strides) : aligned(rows_aligned), tma(tma_strides) {}
};

// What a caller may insist on (tests and benches do), and what it allows.
struct ForwardChoice {
  std::optional<ForwardKernel> kernel{};
  std::optional<int> num_splits{};
  std::optional<int> tuning{};  // decode_forward, hopper_forward: an index into its table
  bool programmatic = false;    // programmatic dependent launch, where kernel and GPU can
};

// Throws Error when no kernel takes the problem, or the chosen one does not.
ForwardPlan plan_forward(const ForwardProblem& problem, Addressing addressing, const device::Spec& spec,
                         const ForwardChoice& choice = {});

// Enough workspace whatever the data pointers turn out to be aligned to.
std::size_t forward_workspace_bytes(const ForwardProblem& problem, const device::Spec& spec);

// The plan in a few lines for a person.
std::string explain(const ForwardPlan& plan, const ForwardProblem& problem, const device::Spec& spec);

}  // namespace flashmoe::dispatch
