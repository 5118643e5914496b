// SPDX-License-Identifier: MIT
// What a GPU is. A table of known ones, so that no GPU is needed to ask what would happen on it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flashmoe::device {

// Where a figure comes from: the vendor's word, somebody else's, a measurement of ours, or a rule that
// carries a measurement over from another GPU.
enum class Origin : unsigned char { unknown, datasheet, third_party, measured, estimated };

const char* name_of(Origin origin);

struct Figure {
  double value = 0;
  Origin origin = Origin::unknown;
  constexpr operator double() const { return value; }  // NOLINT: a number, with a note on it
};

// What good kernels reach on it. Peaks are what no kernel exceeds; expected times rest on these.
struct Reached {
  Figure bandwidth_gbs;   // memory
  Figure l2_gbs;          // reads that hit the L2 cache
  Figure tflops_16bit;    // dense tensor cores, at the clock that the power limit leaves
  Figure gexps;           // exponentials per nanosecond, all SMs
  Figure launch_us;       // an empty kernel as one node of a graph of many
  Figure host_launch_us;  // between launches one by one from a host thread
};

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

  // Peaks that planning does not read.
  double boost_mhz = 0;
  double tflops_fp32 = 0;   // fused multiply-adds outside tensor cores
  double tflops_tf32 = 0;   // dense tensor cores
  double tflops_8bit = 0;   // the same; 0: none
  int exps_per_clock = 16;  // per SM
  double memory_gb = 0;
  std::string_view sheet;  // where the peaks are from
  std::string_view chip;   // where SMs, L2 and clock are from
  Origin chip_origin = Origin::datasheet;
  Reached reached;

  constexpr double gexps() const { return exps_per_clock * sms * boost_mhz * 1e-3; }  // peak, per nanosecond
};

std::span<const Spec> known();

// By name, whatever its case, blanks and hyphens: "H200", "l4", "rtx4090". "A100" and "H100" are the 80 GB
// and SXM ones. Throws Error with the names there are.
const Spec& find(std::string_view name);

// From what a driver calls it ("NVIDIA H100 80GB HBM3"); null when it is not in the table.
const Spec* recognise(std::string_view driver_name);

// Limits of an SM by compute capability; those of the next smaller one that is known where it is not. For a
// GPU that is in no table.
Spec limits_of(int arch);

// One figure in words, for tables: every number of a Spec with its unit and where it is from.
struct Entry {
  const char* name;
  double value;
  const char* unit;
  Origin origin;
  std::string_view source;
};
std::vector<Entry> entries(const Spec& spec);

// Blocks of one kernel that run on an SM at the same time; device/occupancy.h says what limits them.
int blocks_per_sm(const Spec& spec, int threads, int registers_per_thread, int smem_bytes);

}  // namespace flashmoe::device
