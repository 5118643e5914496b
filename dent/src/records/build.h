// SPDX-License-Identifier: MIT
// What was built, and what the launch of it will do.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "records/fields.h"

namespace dent {

// What a compiled GPU kernel uses.
struct KernelResources {
  std::string name, arch;
  int registers = 0;
  int static_smem_bytes = 0;
  int stack_bytes = 0;         // also of arrays that are indexed by variables: traffic that spills don't show
  int spill_bytes = 0;         // stores and loads
  int dynamic_smem_bytes = 0;  // that it is launched with, where its compiler says so
  bool operator==(const KernelResources&) const = default;
};
void fields(Fields& f, KernelResources& kernel);

// What an autotuner chose for calls of one kind.
struct TunedKernel {
  std::string kernel;  // module.function
  std::string key;     // what its arguments are like, as JSON
  std::string config;  // as its compiler writes it
  bool operator==(const TunedKernel&) const = default;
};
void fields(Fields& f, TunedKernel& tuned);

}  // namespace dent

namespace dent::record {

struct Build {
  static constexpr std::string_view kKind = "build";
  std::string source_hash, binary_hash, log;
  double seconds = 0;
  std::vector<KernelResources> kernels;
  std::string incumbent_hash{};  // of a candidate in a loop: the library that it is compared with
  std::map<std::string, std::string> compilers{};  // that work when the kernel is called, and their versions
  std::vector<TunedKernel> tuned{};                // what they chose; it stays so for the whole session
  bool operator==(const Build&) const = default;
};

struct ForeseenOccupancy {
  std::int64_t ctas_per_sm = 0, warps_per_sm = 0;
  double share = 0;
  std::string limiter;
  bool operator==(const ForeseenOccupancy&) const = default;
};
struct ForeseenBlock {
  std::int64_t threads = 0, registers = 0, smem_bytes = 0, cluster = 0;
  bool operator==(const ForeseenBlock&) const = default;
};
struct ForeseenWork {
  double matrix_flops = 0, fp32_flops = 0, exps = 0, dram_bytes = 0, l2_bytes = 0, l1_bytes = 0;
  bool operator==(const ForeseenWork&) const = default;
};
struct ForeseenChange {
  std::string change;
  std::int64_t ctas = 0;
  double expected_us = 0;
  bool operator==(const ForeseenChange&) const = default;
};

// One launch on one GPU, foreseen: what `dent predict --json` prints, and the build gate records by shape.
struct Prediction {
  static constexpr std::string_view kKind = "prediction";
  std::string shape;  // of the project; empty for `dent predict`
  std::string device, title, kernel, detail, reason, headline, dominating;
  bool fits = true, calibrated = false;
  std::int64_t ctas = 0, sms = 0, busy_sms = 0;
  double chip_share = 0, waves = 0, tail = 0, least_us = 0, expected_us = 0, low_us = 0, high_us = 0;
  ForeseenOccupancy occupancy;
  ForeseenBlock block;
  ForeseenWork work;
  std::map<std::string, double> floor_us, busy_floor_us;
  std::vector<ForeseenChange> changes;
  std::vector<std::string> notes;
  bool operator==(const Prediction&) const = default;
};

void fields(Fields& f, Build& build);
void fields(Fields& f, ForeseenOccupancy& occupancy);
void fields(Fields& f, ForeseenBlock& block);
void fields(Fields& f, ForeseenWork& work);
void fields(Fields& f, ForeseenChange& change);
void fields(Fields& f, Prediction& prediction);

}  // namespace dent::record
