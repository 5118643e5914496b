// SPDX-License-Identifier: MIT
#include "dispatch/predict.h"

#include <algorithm>
#include <iterator>

#include "dispatch/plan_kernels.h"
#include "dispatch/runs.h"
#include "flashmoe/error.h"
#include "kernels/decode_forward/spec.h"
#include "kernels/hopper_forward/spec.h"
#include "kernels/small_forward/spec.h"
#include "numeric/ceil_div.h"

namespace flashmoe::dispatch {
namespace {

// Key tiles that one head's row of query tiles goes through, in all and at most.
struct KeyTiles {
  double sum = 0, most = 0;
};

KeyTiles key_tiles(const ForwardPlan& plan, const ForwardProblem& p) {
  KeyTiles tiles;
  const int64_t in_row = ceil_div(p.kv_rows, plan.tile_kv);
  const int64_t count = ceil_div(p.q_rows * plan.pack, plan.tile_q);
  if (p.sees_all()) return {static_cast<double>(count * in_row), static_cast<double>(in_row)};
  for (int64_t tile = 0; tile < count; ++tile) {
    const auto seen = static_cast<double>(key_blocks(p, plan.tile_q, plan.tile_kv, plan.pack, tile));
    tiles.sum += seen;
    tiles.most = std::max(tiles.most, seen);
  }
  return tiles;
}

device::Launch launch_of(const ForwardPlan& plan, const ForwardProblem& p, const KeyTiles& keys) {
  device::Launch launch;
  launch.ctas = int64_t{plan.blocks} * plan.num_splits * plan.cluster;
  launch.block = {.threads = plan.threads, .registers = registers_of(plan, p), .smem_bytes = plan.smem_bytes};
  launch.cluster = plan.cluster;
  launch.items = int64_t{plan.tiles} * plan.num_splits * plan.cluster;
  const double mean = keys.sum / static_cast<double>(ceil_div(p.q_rows * plan.pack, plan.tile_q));
  if (mean > 0) launch.largest = std::max(1.0, keys.most / mean);
  launch.launches = plan.num_splits > 1 ? 2 : 1;
  return launch;
}

// Counted as the kernels work: whole tiles, masked blocks left out.
device::Work work_of(const ForwardPlan& plan, const ForwardProblem& p, const device::Spec& spec,
                     const KeyTiles& keys, Cache cache) {
  device::Work work;
  const auto heads = static_cast<double>(p.batch * p.q_heads / plan.pack);
  const double scores = heads * keys.sum * plan.tile_q * plan.tile_kv;
  const double flops = 4 * scores * plan.head_dim;
  (plan.kernel == ForwardKernel::naive ? work.fp32_flops : work.matrix_flops) = flops;
  work.exps = scores;
  const auto element = static_cast<double>(element_bytes(p.dtype));
  const auto dim = static_cast<double>(p.head_dim);
  const double q_and_out = 2 * static_cast<double>(p.batch * p.q_heads * p.q_rows) * dim * element;
  const int64_t keys_seen = p.visible_to_any().size();
  const double k_and_v = 2 * static_cast<double>(p.batch * p.kv_heads * keys_seen) * dim * element;
  const double partials = 2 * static_cast<double>(plan.workspace_bytes);
  work.l2_bytes = q_and_out + partials + 2 * heads * keys.sum * plan.tile_kv * dim * element;
  const double compulsory = q_and_out + k_and_v;
  const bool fits = compulsory + partials <= static_cast<double>(spec.l2_bytes) * 2 / 3;
  work.dram_bytes = cache == Cache::warm && fits ? 0 : compulsory + (fits ? 0 : partials);
  return work;
}

// Where launch bounds say how many blocks an SM shall hold, they share its registers, in steps of 8.
int shared_out(int threads, int blocks) {
  return std::min(255, device::Spec::registers_per_sm / (threads * blocks) / 8 * 8);
}

int ampere_registers(const ForwardPlan& plan, const ForwardProblem& p) {
  if (p.attn_mask) return plan.head_dim == 128 ? 255 : plan.head_dim == 64 ? 241 : 246;
  if (needs_general(p)) return plan.head_dim == 64 ? 245 : 255;
  if (!plan.aligned) return plan.head_dim <= 64 ? 120 : plan.head_dim <= 128 ? 167 : 245;
  switch (plan.head_dim) {
    case 32:
      return 188;
    case 64:
      return 255;
    case 96:
      return 206;
    case 128:
      return 255;
    case 192:
      return 212;
    default:
      return 244;
  }
}

// What a configuration of small_forward gets, by what it holds.
struct SmallRegisters {
  int head_dim, max_keys, registers;
};
constexpr SmallRegisters kSmallRegisters[] = {
    {.head_dim = 64, .max_keys = 32, .registers = 58},   {.head_dim = 64, .max_keys = 64, .registers = 56},
    {.head_dim = 64, .max_keys = 128, .registers = 74},  {.head_dim = 64, .max_keys = 256, .registers = 94},
    {.head_dim = 64, .max_keys = 512, .registers = 148}, {.head_dim = 128, .max_keys = 64, .registers = 70},
    {.head_dim = 128, .max_keys = 128, .registers = 99}, {.head_dim = 128, .max_keys = 256, .registers = 118},
};

constexpr int small_registers(const kernels::small::Tuning& t) {
  for (const SmallRegisters& known : kSmallRegisters) {
    if (known.head_dim == t.head_dim && known.max_keys == t.max_keys()) return known.registers;
  }
  return 0;
}
static_assert(std::all_of(std::begin(kernels::small::kTunings), std::end(kernels::small::kTunings),
                          [](const kernels::small::Tuning& t) { return small_registers(t) > 0; }),
              "scripts/kernel-resources says what a new configuration gets");

// small_forward has a form without bounds to look at, with two thirds of the instructions.
bool plain_small(const ForwardPlan& plan, const ForwardProblem& p) {
  return p.mask == Mask::none && p.group() == 1 && p.kv_rows == plan.tile_kv && p.head_dim == plan.head_dim;
}

// Constants from flashmoe/docs/results/attention_hopper_h200.json and attention_gpu_h200.json;
// dent/docs/predict.md shows how they were found and how well they do.
device::Manner manner_of(const ForwardPlan& plan, const ForwardProblem& p, const device::Spec& spec) {
  device::Manner manner;
  // Measured on an H200; elsewhere the same constants are a carried-over guess.
  manner.spread = spec.arch == 90 ? 1.35 : 1.7;
  switch (plan.kernel) {
    case ForwardKernel::hopper_forward:
      manner.tensor = 0.92;
      manner.exp_exposed = 0.7;
      manner.start_cycles = 4000;  // tensor maps, barriers, the first loads; the last store
      // Two warpgroups of head_dim 64 are meant to share an SM with two more.
      manner.alone = plan.head_dim == 64 && plan.threads == 384 ? 0.6 : 0.9;
      break;
    case ForwardKernel::ampere_forward: {
      // mma.sync reaches about 63 % of what wgmma does on Hopper, is taken to be no faster per SM on
      // Blackwell, and is all there is on the others. With 16 rows a warp, shared memory is as busy as the
      // tensor cores.
      const double pipe = spec.arch >= 100 ? 0.3 : spec.arch >= 90 ? 0.63 : 1;
      const double rows_per_warp = plan.tile_q * 32.0 / plan.threads;
      manner.tensor = pipe * 0.72 * (rows_per_warp < 32 ? 0.67 : 1);
      manner.exp_exposed = 0.7;
      manner.start_cycles = 2500;
      manner.alone = 0.6;            // four warps
      manner.memory_exposed = 0.75;  // half the threads load, and a CTA's first tile waits for all of it
      // Neither drawing numbers nor reading a tensor is counted, or measured.
      if (p.dropout.p > 0 || p.attn_mask) manner.spread = 2;
      break;
    }
    case ForwardKernel::small_forward:
      manner.sm_l2_gbs = 82;  // four warps have less in flight
      manner.start_cycles = plain_small(plan, p) ? 1800 : 2400;
      manner.item_cycles = 0;
      break;
    case ForwardKernel::decode_forward:
      manner.start_cycles = 4200;  // a cluster's launch, two merges
      manner.item_cycles = 0;
      break;
    case ForwardKernel::naive:
      manner.fp32 = p.dtype == DType::fp32 ? 0.3 : 0.22;  // 16-bit inputs are converted again and again
      manner.exp_exposed = 1;
      manner.spread = 2;
      break;
  }
  if (plan.num_splits > 1) manner.start_cycles += 5000;  // combine_splits
  return manner;
}

}  // namespace

int registers_of(const ForwardPlan& plan, const ForwardProblem& problem) {
  switch (plan.kernel) {
    case ForwardKernel::naive:
      if (needs_general_naive(problem)) return plan.head_dim <= 64 ? 128 : plan.head_dim <= 128 ? 168 : 200;
      return plan.head_dim <= 64 ? 122 : plan.head_dim <= 128 ? 128 : 246;
    case ForwardKernel::ampere_forward:
      return ampere_registers(plan, problem);
    case ForwardKernel::hopper_forward:
      return shared_out(plan.threads, kernels::hopper_forward::kTunings[plan.tuning].blocks_per_sm);
    case ForwardKernel::small_forward:
      return small_registers(kernels::small::kTunings[plan.tuning]);
    case ForwardKernel::decode_forward:
      return shared_out(plan.threads, kernels::decode::kTunings[plan.tuning].blocks_per_sm);
  }
  return 0;
}

Forecast predict_forward(const ForwardPlan& plan, const ForwardProblem& problem, const device::Spec& spec,
                         Cache cache) {
  const KeyTiles keys = key_tiles(plan, problem);
  Forecast f;
  f.launch = launch_of(plan, problem, keys);
  f.work = work_of(plan, problem, spec, keys, cache);
  f.manner = manner_of(plan, problem, spec);
  f.prediction = device::predict(spec, f.launch, f.work, f.manner);
  return f;
}

Forecast predict_with_splits(const ForwardPlan& plan, const ForwardProblem& problem, const device::Spec& spec,
                             int splits, Cache cache) {
  ForwardPlan split = plan;
  split.num_splits = plan.num_splits * splits;
  const int64_t rows = problem.batch * problem.q_heads * problem.q_rows;
  split.workspace_bytes =
      static_cast<std::size_t>(split.num_splits * rows * (plan.head_dim + 1)) * sizeof(float);
  return predict_forward(split, problem, spec, cache);
}

std::vector<device::Change> forward_changes(const ForwardPlan& plan, const ForwardProblem& problem,
                                            const device::Spec& spec, Cache cache) {
  const Forecast now = predict_forward(plan, problem, spec, cache);
  std::vector<device::Change> found;
  if (const int parts = device::parts_to_fill(spec, now.launch.ctas); parts > 1) {
    const Forecast split = predict_with_splits(plan, problem, spec, parts, cache);
    found.push_back({"kv_splits " + std::to_string(plan.num_splits) + " -> " +
                         std::to_string(plan.num_splits * parts) + ": " + std::to_string(now.launch.ctas) +
                         " -> " + std::to_string(split.launch.ctas) + " CTAs",
                     split.launch.ctas, split.prediction.expected_us});
  }
  for (const ForwardKernel kernel :
       {ForwardKernel::naive, ForwardKernel::ampere_forward, ForwardKernel::hopper_forward,
        ForwardKernel::small_forward, ForwardKernel::decode_forward}) {
    if (kernel == plan.kernel) continue;
    try {
      const ForwardPlan other = plan_forward(problem, plan.aligned || plan.kernel == ForwardKernel::naive,
                                             spec, {.kernel = kernel});
      const Forecast forecast = predict_forward(other, problem, spec, cache);
      found.push_back({std::string("kernel ") + name_of(plan.kernel) + " -> " + name_of(kernel) + ": " +
                           std::to_string(now.launch.ctas) + " -> " + std::to_string(forecast.launch.ctas) +
                           " CTAs",
                       forecast.launch.ctas, forecast.prediction.expected_us});
    } catch (const Error&) {
      continue;  // a kernel that does not take this problem is no alternative
    }
  }
  std::erase_if(found, [&](const device::Change& change) {
    return change.expected_us > device::kWorthwhile * now.prediction.expected_us;
  });
  std::stable_sort(found.begin(), found.end(), [](const device::Change& a, const device::Change& b) {
    return a.expected_us < b.expected_us;
  });
  return found;
}

}  // namespace flashmoe::dispatch
