// SPDX-License-Identifier: MIT
// What a GPU is, as far as planning needs to know. A table of known ones, so that no GPU is needed to ask
// what would happen on it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace flashmoe::device {

struct Spec {
  std::string_view name;
  int arch = 80;  // compute capability: 80, 89, 90
  int sms = 108;
  int smem_per_block = 0;  // bytes that one block may ask for
  int smem_per_sm = 0;  // bytes that all blocks of an SM share; each block takes 1 KB more than it asked for
  int threads_per_sm = 2048;
  int blocks_per_sm = 32;
  int64_t l2_bytes = 0;
  double bandwidth_gbs = 0;  // memory, peak
  double tflops_16bit = 0;   // dense tensor cores, fp32 sums, peak
  int max_cluster = 1;       // blocks per cluster that our kernels may count on
  static constexpr int registers_per_sm = 65536;
};

std::span<const Spec> known();

// By name, for example "H200"; throws Error with the names there are.
const Spec& find(std::string_view name);

// Blocks of one kernel that run on an SM at the same time.
int blocks_per_sm(const Spec& spec, int threads, int registers_per_thread, int smem_bytes);

}  // namespace flashmoe::device
