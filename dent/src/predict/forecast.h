// SPDX-License-Identifier: MIT
// One prediction with everything that tables, JSON and plots show.
#pragma once

#include <string>
#include <vector>

#include "device/changes.h"
#include "predict/sizes.h"

namespace dent {

struct Forecast {
  flashmoe::device::Spec gpu;
  std::string title;   // "B=1 H=1 S=128 D=64", or the kernel's name
  std::string family;  // title without the size that a sweep varies
  double size = 0;     // the size that a sweep varies: rows, or CTAs
  std::string kernel;  // "naive"
  std::string detail;  // tiles, splits, registers, shared memory
  std::string why;     // why dispatch chose it; may be empty
  flashmoe::device::Launch launch;
  flashmoe::device::Work work;
  flashmoe::device::Prediction prediction;
  std::vector<flashmoe::device::Change> changes;  // the best first
  std::vector<std::string> notes;
  bool calibrated = false;  // whether constants were measured for this kernel on this architecture
};

struct AttentionRequest {
  Sizes sizes{1, 1, 128, 64};
  std::int64_t kv_rows = 0;   // 0: equal to S
  std::int64_t kv_heads = 0;  // 0: equal to H
  bool causal = false;
  bool warm = false;
  bool backward = false;       // predict the gradients' kernels
  bool deterministic = false;  // for gradients
  std::string dtype = "fp16";
  std::string kernel;  // empty: dispatch chooses
  int splits = 0;      // 0: dispatch chooses
};
// Throws Error if no kernel supports the request.
Forecast predict_attention(const AttentionRequest& request, const flashmoe::device::Spec& gpu);

struct KernelRequest {
  std::string name = "kernel";
  flashmoe::device::Launch launch;
  flashmoe::device::Work work;
};
Forecast predict_kernel(const KernelRequest& request, const flashmoe::device::Spec& gpu);

}  // namespace dent
