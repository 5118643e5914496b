// SPDX-License-Identifier: MIT
#include "predict/measurement.h"

namespace dent {

void fields(Fields& f, ReachedFigures& reached) {
  f.may("bandwidth_gbs", reached.bandwidth_gbs, "of global memory, read and written");
  f.may("l2_gbs", reached.l2_gbs, "of the L2 cache, by plain loads");
  f.may("tflops_16bit", reached.tflops_16bit, "of matrix products, dense");
  f.may("gexps", reached.gexps, "exponentials a nanosecond");
  f.may("launch_us", reached.launch_us, "from one launch to the next on the GPU");
  f.may("host_launch_us", reached.host_launch_us, "that a launch takes the host");
  f.may("matrix_by", reached.matrix_by, "what the matrix products were");
}

void fields(Fields& f, Measurement& measurement) {
  f.may("schema", measurement.schema, "of this document");
  f("name", measurement.name, "as the driver calls the GPU");
  f.may("arch", measurement.arch, "compute capability, 90 for 9.0");
  f.may("sms", measurement.sms, "multiprocessors");
  f.may("clock_mhz", measurement.clock_mhz, "boost clock");
  f.may("smem_per_block", measurement.smem_per_block, "bytes that a block can have");
  f.may("smem_per_sm", measurement.smem_per_sm, "bytes");
  f.may("threads_per_sm", measurement.threads_per_sm, "at most");
  f.may("blocks_per_sm", measurement.blocks_per_sm, "at most");
  f.may("l2_bytes", measurement.l2_bytes, "of the L2 cache");
  f.may("memory_bytes", measurement.memory_bytes, "of global memory");
  f.may("runtime", measurement.runtime, "version of the CUDA runtime");
  f.may("driver", measurement.driver, "version of CUDA that the driver knows");
  f("measured", measurement.measured, "what kernels reach");
}

}  // namespace dent
