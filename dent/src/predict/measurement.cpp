// SPDX-License-Identifier: MIT
#include "predict/measurement.h"

namespace dent {

void fields(Fields& f, ReachedFigures& reached) {
  f.may("bandwidth_gbs", reached.bandwidth_gbs, "bandwidth of global memory, reads and writes together");
  f.may("l2_gbs", reached.l2_gbs, "bandwidth of the L2 cache, by plain loads");
  f.may("tflops_16bit", reached.tflops_16bit, "rate of dense matrix products");
  f.may("gexps", reached.gexps, "exponentials per nanosecond");
  f.may("launch_us", reached.launch_us, "time from one launch to the next on the GPU");
  f.may("host_launch_us", reached.host_launch_us, "host time of a launch");
  f.may("matrix_by", reached.matrix_by, "which matrix products were measured");
}

void fields(Fields& f, Measurement& measurement) {
  f.may("schema", measurement.schema, "schema of this document");
  f("name", measurement.name, "the driver's name of the GPU");
  f.may("arch", measurement.arch, "compute capability, 90 for 9.0");
  f.may("sms", measurement.sms, "multiprocessors");
  f.may("clock_mhz", measurement.clock_mhz, "boost clock");
  f.may("smem_per_block", measurement.smem_per_block, "bytes of shared memory that a block can have");
  f.may("smem_per_sm", measurement.smem_per_sm, "bytes of shared memory of an SM");
  f.may("threads_per_sm", measurement.threads_per_sm, "most threads of an SM");
  f.may("blocks_per_sm", measurement.blocks_per_sm, "most blocks of an SM");
  f.may("l2_bytes", measurement.l2_bytes, "size of the L2 cache");
  f.may("memory_bytes", measurement.memory_bytes, "size of global memory");
  f.may("runtime", measurement.runtime, "version of the CUDA runtime");
  f.may("driver", measurement.driver, "version of CUDA that the driver supports");
  f("measured", measurement.measured, "rates that kernels reach");
}

}  // namespace dent
