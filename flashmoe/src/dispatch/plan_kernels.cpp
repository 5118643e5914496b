// SPDX-License-Identifier: MIT
#include "dispatch/plan_kernels.h"

#include <algorithm>

#include "dispatch/decode.h"
#include "dispatch/hopper.h"
#include "dispatch/pair_bits.h"
#include "dispatch/plan_lengths.h"
#include "dispatch/row_table.h"
#include "dispatch/runs.h"
#include "dispatch/scores.h"
#include "flashmoe/error.h"
#include "kernels/ampere_forward/launch.h"
#include "kernels/decode_forward/spec.h"
#include "kernels/hopper_forward/launch.h"
#include "kernels/hopper_forward/spec.h"
#include "kernels/naive/smem.h"
#include "kernels/row_stats.h"
#include "kernels/small_forward/spec.h"
#include "numeric/ceil_div.h"

namespace flashmoe::dispatch {
namespace {

constexpr int64_t kMaxGridY = 65535;

// K and V of the heads in flight should stay in the L2 cache until every tile has read them: what the heads'
// tiles of a row see of them.
int heads_that_fit(const ForwardPlan& plan, const ForwardProblem& p, int64_t all_heads,
                   const device::Spec& spec) {
  const int64_t keys = std::max<int64_t>(1, most_keys(p, plan.tile_q / plan.pack));
  const int64_t kv_bytes = 2 * keys * p.head_dim * element_bytes(p.dtype);
  const int64_t kv_heads = std::max<int64_t>(1, spec.l2_bytes / 2 / kv_bytes);
  return static_cast<int>(std::min(all_heads, kv_heads * (p.group() / plan.pack)));
}

void set_grid(ForwardPlan& plan, const ForwardProblem& p, const device::Spec& spec) {
  const int64_t heads = p.batch * (p.q_heads / plan.pack);
  const int64_t tiles = ceil_div(p.q_rows * plan.pack, plan.tile_q);
  if (heads > kMaxBlocks / tiles) {
    refuse_forward("the problem has " + std::to_string(heads) + " heads of " + std::to_string(tiles) +
                       " tiles, more than the 2^31 - 1 blocks of a grid",
                   "split the batch over several calls");
  }
  plan.tiles = static_cast<unsigned>(heads * tiles);
  plan.blocks = plan.tiles;
  if (p.mask == Mask::none && !p.window.limits()) return;  // all tiles are the same work
  const auto blocks_of = [&](int64_t tile) {
    return key_blocks(p, plan.tile_q, plan.tile_kv, plan.pack, tile);
  };
  plan.last_first = blocks_of(tiles - 1) >= blocks_of(0);
  plan.heads_at_once = heads_that_fit(plan, p, heads, spec);
}

// Rows of a tile that hold a query, as a share.
double row_share(int64_t rows, int tile) {
  return static_cast<double>(rows) / static_cast<double>(ceil_div(rows, tile) * tile);
}

// Whether a tile of all query heads of a K/V head holds clearly more of them than one of each head alone.
bool packing_pays(int64_t group, int64_t rows, int tile) {
  return group > 1 && row_share(rows, tile) < 0.9 * row_share(rows * group, tile);
}

ForwardPlan ampere_plan(const kernels::ampere_forward::Form& form, bool aligned, const char* reason) {
  return {.kernel = ForwardKernel::ampere_forward,
          .aligned = aligned,
          .head_dim = form.head_dim,
          .tile_q = form.tile_q,
          .tile_kv = form.tile_kv,
          .threads = form.threads,
          .smem_bytes = form.smem_bytes,
          .reason = reason};
}

// As few blocks per tile as keep the SMs nearly as busy as any number would.
int choose_splits(const ForwardPlan& plan, const ForwardProblem& p, const device::Spec& spec) {
  const int64_t kv_tiles = ceil_div(most_keys(p, plan.tile_q / plan.pack), int64_t{plan.tile_kv});
  const int resident = std::max(1, device::blocks_per_sm(spec, plan.threads, 255, plan.smem_bytes));
  const int64_t slots = int64_t{spec.sms} * resident;
  constexpr int64_t kFewTiles = 4;  // too few to share: the second kernel costs more than it saves
  if (plan.blocks >= slots * 8 / 10 || kv_tiles <= kFewTiles) return 1;
  const auto most = static_cast<int>(std::min<int64_t>({kMaxSplits, slots, kv_tiles / 2}));
  const auto busy = [&](int splits) {
    const int64_t blocks = int64_t{plan.blocks} * splits;
    return static_cast<double>(blocks) / static_cast<double>(ceil_div(blocks, slots) * slots);
  };
  double best = 0;
  for (int splits = 1; splits <= most; ++splits) best = std::max(best, busy(splits));
  for (int splits = 1; splits <= most; ++splits) {
    if (busy(splits) >= 0.85 * best) return splits;
  }
  return 1;
}

// What the splits leave for combine_splits: fp32 rows and their statistics.
std::size_t partials_bytes(const ForwardPlan& plan, const ForwardProblem& p) {
  if (plan.num_splits == 1) return 0;
  const int64_t rows = p.batch * p.q_heads * p.q_rows;
  return static_cast<std::size_t>(plan.num_splits * rows) *
         (static_cast<std::size_t>(plan.head_dim) * sizeof(float) + sizeof(kernels::RowStats));
}

// What the caller insists on.
DecodeCut cut_as_asked(const ForwardProblem& p, const device::Spec& spec, const ForwardChoice& choice) {
  namespace decode = kernels::decode;
  const int splits = choice.num_splits.value_or(1);
  if (!choice.tuning) {
    const int cluster = decode::kTunings[cut_for_decode(p, spec).tuning].cluster;
    return {find_decode_tuning(p, spec, cluster, splits, false), splits};
  }
  if (*choice.tuning < 0 || *choice.tuning >= decode::kNumTunings) {
    refuse_forward("tuning is " + std::to_string(*choice.tuning) + "; decode_forward has 0 to " +
                   std::to_string(decode::kNumTunings - 1));
  }
  const decode::Tuning& t = decode::kTunings[*choice.tuning];
  if (t.cluster > spec.max_cluster || t.smem_bytes() > spec.smem_per_block ||
      !decode::takes(t, p.head_dim, p.kv_rows, splits)) {
    refuse_forward("configuration " + std::to_string(*choice.tuning) +
                   " of decode_forward does not take this problem here");
  }
  return {*choice.tuning, splits};
}

}  // namespace

void refuse_forward(const std::string& what, const std::string& remedy, std::source_location where) {
  throw Error(ErrorCode::unsupported, "attention_forward on cuda: " + what, remedy, where);
}

const char* needs_general_naive(const ForwardProblem& p) {
  if (p.lengths.given) return "sequences of different lengths";
  if (p.dropout.p > 0) return kDropout;
  if (p.changes_scores()) return "scores that change before the softmax";
  return p.sinks ? "sinks" : nullptr;
}

const char* needs_change(const ForwardProblem& p) {
  if (p.dropout.p > 0) return kDropout;
  if (p.changes_scores()) return "scores that change before the softmax";
  if (!is_plain_scale(p.scale))
    return "a softmax scale that is zero, negative or beyond the normal range of fp32";
  return p.sinks ? "sinks" : nullptr;
}

const char* needs_general(const ForwardProblem& p) {
  if (p.lengths.given) return "sequences of different lengths";
  if (p.spans.given()) return "spans";
  return needs_change(p);
}

const char* needs_runs(const ForwardProblem& p) {
  if (p.spans.given()) return "spans";
  return p.window.limits() ? "a window of keys" : nullptr;
}

ForwardPlan plan_naive(const ForwardProblem& p, const device::Spec& spec, const char* reason) {
  namespace naive = kernels::naive;
  ForwardPlan plan{
      .kernel = ForwardKernel::naive,
      .aligned = false,
      .head_dim = p.head_dim <= 64    ? 64
                  : p.head_dim <= 128 ? 128
                                      : 256,
      .tile_q = naive::kTile,
      .tile_kv = naive::kTile,
      .threads = naive::kThreads,
      .smem_bytes = static_cast<int>(needs_general_naive(p) ? sizeof(naive::GeneralSmem<naive::Smem>)
                                                            : sizeof(naive::Smem)),
      .reason = reason};
  if (p.lengths.given) {
    add_tiles_of_lengths(plan, p);
  } else {
    set_grid(plan, p, spec);
    plan.workspace_bytes = with_row_table(0, p, false);
  }
  return plan;
}

ForwardPlan plan_ampere(const ForwardProblem& p, bool aligned, const device::Spec& spec,
                        std::optional<int> splits, const char* reason) {
  aligned = aligned && p.head_dim % 8 == 0;  // rows are whole pieces of 16 bytes
  namespace ampere = kernels::ampere_forward;
  const auto head_dim = static_cast<int>(p.head_dim);
  const ampere::Form form = p.attn_mask        ? ampere::pairs_form_for(head_dim)
                            : needs_general(p) ? ampere::general_form_for(head_dim)
                            : needs_runs(p)    ? ampere::form_for_runs(head_dim)
                                               : ampere::form_for(head_dim, aligned);
  ForwardPlan plan = ampere_plan(form, aligned, reason);
  if (packing_pays(p.group(), p.q_rows, plan.tile_q)) plan.pack = static_cast<int>(p.group());
  set_grid(plan, p, spec);
  plan.num_splits = splits.value_or(choose_splits(plan, p, spec));
  const std::size_t partials = partials_bytes(plan, p);
  plan.workspace_bytes =
      with_row_table(ampere_takes_bits(p) ? with_pair_bits(partials, p, false) : partials, p, false);
  return plan;
}

ForwardPlan plan_ampere_lengths(const ForwardProblem& p, const char* reason) {
  ForwardPlan plan =
      ampere_plan(kernels::ampere_forward::general_form_for(static_cast<int>(p.head_dim)), true, reason);
  // How long packed sequences are nobody knows; and what one gives must not hang on how long the others are.
  if (!p.lengths.q_packed && plan.tile_q % p.group() == 0 && packing_pays(p.group(), p.q_rows, plan.tile_q))
    plan.pack = static_cast<int>(p.group());
  add_tiles_of_lengths(plan, p);
  return plan;
}

ForwardPlan plan_hopper(const ForwardProblem& p, const device::Spec& spec, const ForwardChoice& choice,
                        const char* reason) {
  namespace hopper = kernels::hopper_forward;
  const int pack = p.spans.given() || p.attn_mask ? 1 : hopper_pack(p);
  if (choice.tuning && (*choice.tuning < 0 || *choice.tuning >= hopper::kNumTunings ||
                        hopper::kTunings[*choice.tuning].head_dim < p.head_dim)) {
    refuse_forward("tuning is " + std::to_string(*choice.tuning) + "; hopper_forward has 0 to " +
                   std::to_string(hopper::kNumTunings - 1) + ", and not all of them take head_dim " +
                   std::to_string(p.head_dim));
  }
  if (choice.tuning && needs_runs(p) && !hopper::kTunings[*choice.tuning].runs) {
    refuse_forward("tuning " + std::to_string(*choice.tuning) + " of hopper_forward does not take " +
                   needs_runs(p));
  }
  if (p.spans.given() &&
      ((choice.tuning && hopper::kTunings[*choice.tuning].splits) || choice.num_splits.value_or(1) > 1)) {
    refuse_forward("hopper_forward does not share out the keys of a problem with spans");
  }
  const auto takes = adds_bias(p) ? hopper::takes_bias : hopper::takes_changes;
  if (const char* change = needs_change(p);
      choice.tuning && change && !takes(hopper::kTunings[*choice.tuning])) {
    refuse_forward("tuning " + std::to_string(*choice.tuning) + " of hopper_forward does not take " + change);
  }
  const int splits = choice.num_splits ? *choice.num_splits
                     : choice.tuning   ? (hopper::kTunings[*choice.tuning].splits ? 2 : 1)
                     : p.spans.given() ? 1
                                       : hopper_splits(p, pack, spec);
  const int index =
      choice.tuning.value_or(splits > 1 ? hopper_split_tuning(p) : hopper_tuning(p, pack, spec));
  const hopper::Tuning& tuning = hopper::kTunings[index];
  if (tuning.splits != (splits > 1)) {
    refuse_forward("num_splits is " + std::to_string(splits) + "; tuning " + std::to_string(index) +
                   " of hopper_forward " + (tuning.splits ? "needs 2 or more" : "has whole tiles: 1"));
  }
  ForwardPlan plan{
      .kernel = ForwardKernel::hopper_forward,
      .head_dim = tuning.head_dim,
      .tile_q = tuning.tile_q(),
      .tile_kv = tuning.tile_kv,
      .threads = tuning.threads(),
      .smem_bytes = adds_bias(p) ? hopper::smem_bytes_with_bias(index) : hopper::smem_bytes(index),
      .tuning = index,
      .pack = pack,
      .num_splits = splits,
      .reason = reason};
  set_grid(plan, p, spec);
  // Persistent blocks, or one for every tile or share of one.
  const bool persistent = tuning.blocks_per_sm == 1 && !tuning.splits;
  plan.blocks = persistent ? std::min(plan.tiles, static_cast<unsigned>(spec.sms)) : plan.tiles;
  plan.workspace_bytes = with_row_table(partials_bytes(plan, p), p, false);
  if (p.attn_mask) plan.workspace_bytes = with_pair_bits(plan.workspace_bytes, p, false);
  order_hopper_tiles(plan, p, spec);
  return plan;
}

const char* too_much_for_ampere(const ForwardProblem& p, bool aligned) {
  if (aligned && p.head_dim % 8 == 0) return nullptr;
  if (needs_general(p)) return "rows that are not whole multiples of 16 bytes in a general form";
  return needs_runs(p) ? "a window of keys with rows that are not whole multiples of 16 bytes" : nullptr;
}

const char* too_much_for_small(const ForwardProblem& p, bool aligned, const device::Spec& spec) {
  if (const char* change = needs_change(p)) return change;
  if (const char* runs = needs_runs(p)) return runs;
  if (!aligned || p.head_dim % 8 != 0) return "rows that are not whole multiples of 16 bytes";
  if (p.head_dim > 128) return "head_dim above 128";
  if (p.batch * p.kv_heads > kMaxGridY) return "more than 65,535 K/V heads in the batch";
  const bool fits = p.kv_rows <= kernels::small::kMaxKeys &&
                    kernels::small::find_tuning(static_cast<int>(p.head_dim), static_cast<int>(p.kv_rows),
                                                spec.smem_per_block) >= 0;
  return fits ? nullptr : "more keys than fit its shared memory";
}

ForwardPlan plan_small(const ForwardProblem& p, const device::Spec& spec, const char* reason) {
  namespace small = kernels::small;
  const int index =
      small::find_tuning(static_cast<int>(p.head_dim), static_cast<int>(p.kv_rows), spec.smem_per_block);
  const small::Tuning& tuning = small::kTunings[index];
  ForwardPlan plan{.kernel = ForwardKernel::small_forward,
                   .head_dim = tuning.head_dim,
                   .tile_q = small::kRows,
                   .tile_kv = tuning.max_keys(),
                   .threads = tuning.threads(),
                   .smem_bytes = tuning.smem_bytes(),
                   .tuning = index,
                   .pack = static_cast<int>(p.group()),
                   .reason = reason};
  set_grid(plan, p, spec);
  return plan;
}

const char* too_much_for_decode(const ForwardProblem& p, bool aligned) {
  if (const char* change = needs_change(p)) return change;
  if (const char* runs = needs_runs(p)) return runs;
  if (!aligned || p.head_dim % 8 != 0) return "rows that are not whole multiples of 16 bytes";
  if (p.head_dim > 128) return "head_dim above 128";
  if (p.q_rows * p.group() > kernels::decode::kRows) return "more than 8 query rows for a K/V head";
  if (p.batch > kMaxGridY || p.kv_heads > kMaxGridY) return "more than 65,535 K/V heads or batch entries";
  return nullptr;
}

ForwardPlan plan_decode(const ForwardProblem& p, const device::Spec& spec, const ForwardChoice& choice,
                        const char* reason) {
  namespace decode = kernels::decode;
  const DecodeCut cut =
      choice.tuning || choice.num_splits ? cut_as_asked(p, spec, choice) : cut_for_decode(p, spec);
  const decode::Tuning& tuning = decode::kTunings[cut.tuning];
  ForwardPlan plan{.kernel = ForwardKernel::decode_forward,
                   .head_dim = tuning.head_dim,
                   .tile_q = decode::kRows,
                   .tile_kv = tuning.block_keys,
                   .threads = tuning.threads(),
                   .smem_bytes = tuning.smem_bytes(),
                   .tuning = cut.tuning,
                   .pack = static_cast<int>(p.group()),
                   .num_splits = cut.splits,
                   .cluster = tuning.cluster,
                   .reason = reason};
  set_grid(plan, p, spec);
  plan.workspace_bytes = partials_bytes(plan, p);
  return plan;
}

}  // namespace flashmoe::dispatch
