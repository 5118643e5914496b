// SPDX-License-Identifier: MIT
#include "dispatch/predict_backward.h"

#include <algorithm>

#include "dispatch/runs.h"
#include "kernels/ampere_backward/spec.h"
#include "numeric/ceil_div.h"

namespace flashmoe::dispatch {
namespace {

// Query tiles that the key tiles of one query head go through, in all and at most.
struct QueryTiles {
  double sum = 0, most = 0;
};

QueryTiles query_tiles(const BackwardPlan& plan, const ForwardProblem& p) {
  QueryTiles tiles;
  const kernels::Runs runs = runs_of(p);
  for (int64_t tile = 0; tile < plan.key_tiles; ++tile) {
    // Rows that see a key of the tile.
    const int64_t begin = std::clamp<int64_t>(tile * plan.tile_kv - runs.end + 1, 0, p.q_rows);
    const int64_t end = std::clamp<int64_t>((tile + 1) * plan.tile_kv - runs.begin, begin, p.q_rows);
    const auto seen =
        static_cast<double>(ceil_div(end - begin / plan.tile_q * plan.tile_q, int64_t{plan.tile_q}));
    tiles.sum += seen;
    tiles.most = std::max(tiles.most, seen);
  }
  return tiles;
}

// Where launch bounds say how many blocks an SM shall hold, they share its registers, in steps of 8.
int registers_of(const BackwardPlan& plan) {
  const int blocks = plan.kernel == BackwardKernel::ampere_backward
                         ? kernels::ampere_backward::kTunings[plan.tuning].blocks_per_sm
                         : 1;
  return std::min(255, device::Spec::registers_per_sm / (plan.threads * blocks) / 8 * 8);
}

device::Launch launch_of(const BackwardPlan& plan, const ForwardProblem& p, const QueryTiles& queries) {
  device::Launch launch;
  launch.ctas = p.batch * p.kv_heads * plan.key_tiles;
  launch.block = {.threads = plan.threads, .registers = registers_of(plan), .smem_bytes = plan.smem_bytes};
  const double mean = queries.sum / plan.key_tiles;
  if (mean > 0) launch.largest = std::max(1.0, queries.most / mean);
  launch.launches = plan.kernel == BackwardKernel::naive_backward ? 2 : 3;  // delta before, dq after
  return launch;
}

// Counted as the kernels work: five products over whole tiles, pairs that no mask lets through left out.
device::Work work_of(const BackwardPlan& plan, const ForwardProblem& p, const device::Spec& spec,
                     const QueryTiles& queries, Cache cache) {
  device::Work work;
  const bool naive = plan.kernel == BackwardKernel::naive_backward;
  const auto heads = static_cast<double>(p.batch * p.q_heads);
  const double rows_read = heads * queries.sum * plan.tile_q;
  const double scores = rows_read * plan.tile_kv;
  // naive_backward computes the scores and dP twice: once for dq, once for dk and dv.
  (naive ? work.fp32_flops : work.matrix_flops) = (naive ? 14 : 10) * scores * plan.head_dim;
  work.exps = (naive ? 2 : 1) * scores;
  const auto element = static_cast<double>(element_bytes(p.dtype));
  const auto dim = static_cast<double>(p.head_dim);
  const double q_like = heads * static_cast<double>(p.q_rows) * dim;
  const double k_like = static_cast<double>(p.batch * p.kv_heads * p.kv_rows) * dim;
  const double tensors = (4 * q_like + 4 * k_like) * element;  // q, out, dout, dq; k, v, dk, dv
  const double sums = naive ? 0 : 3 * 4 * q_like;              // of dq in fp32: cleared, added to, read
  // Q and dO of every tile, and what is added to dq, which the cache does itself.
  work.l2_bytes = tensors + sums + rows_read * dim * (2 * element + (naive ? 0 : 8));
  const bool fits = tensors + sums <= static_cast<double>(spec.l2_bytes) * 2 / 3;
  work.dram_bytes = cache == Cache::warm && fits ? 0 : tensors + (fits ? 0 : sums);
  return work;
}

// Constants from flashmoe/docs/results/attention_backward_h200.json; dent/docs/predict.md shows how well they
// do.
device::Manner manner_of(const BackwardPlan& plan, const device::Spec& spec) {
  device::Manner manner;
  manner.spread = spec.arch == 90 ? 1.35 : 1.7;  // elsewhere the same constants are a carried-over guess
  manner.start_cycles = 8000;                    // the kernels before and after
  manner.exp_exposed = 0.7;
  switch (plan.kernel) {
    case BackwardKernel::hopper_backward:
      manner.tensor = plan.head_dim == 256 ? 0.5 : plan.head_dim == 128 ? 0.7 : 0.68;
      // Sums of dq are added in turn. Shorter tiles of keys wait more often.
      if (plan.deterministic) manner.tensor *= plan.head_dim == 256 ? 0.68 : 0.8;
      break;
    case BackwardKernel::ampere_backward:
      // mma.sync: see ampere_forward in predict.cpp.
      manner.tensor = (spec.arch >= 100  ? 0.3
                       : spec.arch >= 90 ? 0.63
                                         : 1) *
                      (plan.head_dim == 256   ? 0.42
                       : plan.head_dim == 128 ? 0.54
                                              : 0.62);
      if (plan.deterministic) manner.tensor *= 0.9;
      if (plan.general) manner.spread = 2;  // not measured
      break;
    case BackwardKernel::naive_backward:
      manner.fp32 = 0.2;
      manner.exp_exposed = 1;
      manner.spread = 2;
      break;
  }
  return manner;
}

}  // namespace

Forecast predict_backward(const BackwardPlan& plan, const ForwardProblem& problem, const device::Spec& spec,
                          Cache cache) {
  const QueryTiles queries = query_tiles(plan, problem);
  Forecast f;
  f.launch = launch_of(plan, problem, queries);
  f.work = work_of(plan, problem, spec, queries, cache);
  f.manner = manner_of(plan, spec);
  f.prediction = device::predict(spec, f.launch, f.work, f.manner);
  return f;
}

}  // namespace flashmoe::dispatch
