// SPDX-License-Identifier: MIT
// What was built, and the prediction for its launch.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "records/fields.h"

namespace dent {

// Resources of a compiled GPU kernel.
struct KernelResources {
  std::string name, arch;
  int registers = 0;
  int static_smem_bytes = 0;
  int stack_bytes = 0;         // also arrays with variable indices, whose traffic spill_bytes omits
  int spill_bytes = 0;         // spill stores and loads
  int dynamic_smem_bytes = 0;  // per launch, if the compiler reports it
  bool operator==(const KernelResources&) const = default;
};
void fields(Fields& f, KernelResources& kernel);

// An autotuner's choice for one kind of call.
struct TunedKernel {
  std::string kernel;  // module.function
  std::string key;     // description of the arguments, as JSON
  std::string config;  // as its compiler prints it
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
  std::string incumbent_hash{};                    // in a loop: hash of the incumbent's library
  std::map<std::string, std::string> compilers{};  // compilers that run during calls, and their versions
  std::vector<TunedKernel> tuned{};                // autotuners' choices, fixed for the whole session
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

// Prediction for one launch on one GPU: `dent predict --json` prints it, and the build gate records one per
// shape.
struct Prediction {
  static constexpr std::string_view kKind = "prediction";
  std::string shape;  // shape of the project; empty for `dent predict`
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
