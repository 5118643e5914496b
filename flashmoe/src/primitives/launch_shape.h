// SPDX-License-Identifier: MIT
// Launch parameters of a kernel, for a GPU or for the model.
#pragma once

namespace flashmoe::gpu {

struct LaunchShape {
  const char* kernel = "";    // its name, for error messages
  unsigned blocks = 1;        // grid, x
  unsigned blocks_y = 1;      // grid, y: at most 65,535
  unsigned blocks_z = 1;      // grid, z: at most 65,535
  int threads = 32;           // per block
  int smem_bytes = 0;         // dynamic shared memory per block
  int blocks_per_sm = 1;      // as in __launch_bounds__; the model divides the SM's registers by it
  int cluster = 1;            // blocks per cluster, consecutive in x; 1 = no clusters
  bool programmatic = false;  // may start while the kernel before it on the stream still runs
  void* stream = nullptr;     // the caller's cudaStream_t
};

}  // namespace flashmoe::gpu
