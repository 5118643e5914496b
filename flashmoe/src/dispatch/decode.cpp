// SPDX-License-Identifier: MIT
#include "dispatch/decode.h"

#include <algorithm>

#include "kernels/decode_forward/spec.h"
#include "numeric/ceil_div.h"

namespace flashmoe::dispatch {
namespace {

// Clusters of a configuration that run at the same time. A cluster's blocks lie in one group of SMs, and
// those groups are no multiples of a cluster: what is left over in them is counted as one cluster.
int64_t clusters_at_once(const kernels::decode::Tuning& t, const device::Spec& spec) {
  // The most registers that let so many blocks run: threads get them in steps of 8, and no more than 255.
  const int registers = std::min(255, 65536 / (t.threads() * t.blocks_per_sm) / 8 * 8);
  const int64_t blocks = device::blocks_per_sm(spec, t.threads(), registers, t.smem_bytes());
  const int64_t per_sm = std::min<int64_t>(blocks, t.blocks_per_sm);
  return per_sm * (t.cluster == 1 ? spec.sms : spec.sms / t.cluster - 1);
}

// Microseconds that reading K and V takes: as long as the blocks' own loads, or as the memory of the whole
// chip; and what a second kernel costs. From measurements on an H200 (kernels/decode_forward/NOTES.md).
double decode_us(const ForwardProblem& p, const device::Spec& spec, int64_t blocks, int splits) {
  constexpr double kBytesPerUsAndBlock = 70e3;
  constexpr double kBytesPerUsAndSm = 32e3;
  constexpr double kCombineUs = 3;
  const auto bytes =
      static_cast<double>(2 * p.batch * p.kv_heads * p.kv_rows * p.head_dim * element_bytes(p.dtype));
  const double by_block =
      bytes / (kBytesPerUsAndBlock * static_cast<double>(std::min<int64_t>(blocks, spec.sms)));
  return std::max(by_block, bytes / (kBytesPerUsAndSm * spec.sms)) + (splits > 1 ? kCombineUs : 0);
}

}  // namespace

int find_decode_tuning(const ForwardProblem& p, const device::Spec& spec, int cluster, int splits,
                       bool one_wave) {
  namespace decode = kernels::decode;
  for (int i = 0; i < decode::kNumTunings; ++i) {
    const decode::Tuning& t = decode::kTunings[i];
    if (t.cluster != cluster || t.smem_bytes() > spec.smem_per_block ||
        !decode::takes(t, p.head_dim, p.kv_rows, splits)) {
      continue;
    }
    if (!one_wave || clusters_at_once(t, spec) >= p.batch * p.kv_heads * splits) return i;
  }
  return -1;
}

DecodeCut cut_for_decode(const ForwardProblem& p, const device::Spec& spec) {
  constexpr int64_t kFewKeys = 128;
  const int64_t heads = p.batch * p.kv_heads;
  const int64_t most = std::max<int64_t>(1, ceil_div(p.kv_rows, kFewKeys));  // blocks per head
  DecodeCut cut;
  int cluster = spec.max_cluster;
  while (cluster > 1 && (cluster > most || find_decode_tuning(p, spec, cluster, 1, true) < 0)) cluster /= 2;
  for (int splits = 1; splits <= std::min<int64_t>(most / cluster, kMaxSplits); ++splits) {
    if (splits > 1 && heads * cluster * splits > spec.sms) break;
    const int tuning = find_decode_tuning(p, spec, cluster, splits, cluster > 1);
    if (tuning < 0) break;
    if (cut.tuning < 0 || decode_us(p, spec, heads * cluster * splits, splits) <
                              decode_us(p, spec, heads * cluster * cut.splits, cut.splits)) {
      cut = {tuning, splits};
    }
  }
  return cut;
}

}  // namespace flashmoe::dispatch
