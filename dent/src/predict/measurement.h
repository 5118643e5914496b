// SPDX-License-Identifier: MIT
// Result of `dent devices --measure`: measure.cu prints it, a file stores it, and a Spec is made from it.
#pragma once

#include <cstdint>
#include <string>

#include "records/fields.h"

namespace dent {

// Rates that kernels reach; 0: not measured.
struct ReachedFigures {
  double bandwidth_gbs = 0, l2_gbs = 0, tflops_16bit = 0, gexps = 0, launch_us = 0, host_launch_us = 0;
  std::string matrix_by{};  // products that reached tflops_16bit
};

struct Measurement {
  int schema = 1;
  std::string name{};  // the driver's name of the GPU
  // from the driver, for GPUs outside the table
  int arch = 0, sms = 0, smem_per_block = 0, smem_per_sm = 0, threads_per_sm = 0, blocks_per_sm = 0;
  double clock_mhz = 0;
  std::int64_t l2_bytes = 0, memory_bytes = 0;
  int runtime = 0, driver = 0;  // versions
  ReachedFigures measured{};
};

void fields(Fields& f, ReachedFigures& reached);
void fields(Fields& f, Measurement& measurement);

}  // namespace dent
