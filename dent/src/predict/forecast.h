// SPDX-License-Identifier: MIT
// One prediction with all that belongs to it, for tables, JSON and plots.
#pragma once

#include <string>
#include <vector>

#include "device/changes.h"
#include "predict/sizes.h"

namespace dent {

struct Forecast {
  flashmoe::device::Spec gpu;
  std::string title;   // "B=1 H=1 S=128 D=64", or the kernel's name
  std::string family;  // the same without what a sweep goes over
  double size = 0;     // what a sweep goes over: rows, or CTAs
  std::string kernel;  // "naive"
  std::string detail;  // tiles, splits, registers, shared memory
  std::string why;     // dispatch chose it; may be empty
  flashmoe::device::Launch launch;
  flashmoe::device::Work work;
  flashmoe::device::Prediction prediction;
  std::vector<flashmoe::device::Change> changes;  // best first
  std::vector<std::string> notes;
  bool calibrated = false;  // constants were measured for this kernel on this architecture
};

struct AttentionRequest {
  Sizes sizes{1, 1, 128, 64};
  std::int64_t kv_rows = 0;   // 0: as many as S
  std::int64_t kv_heads = 0;  // 0: as many as H
  bool causal = false;
  bool warm = false;
  bool backward = false;       // the gradients' kernels instead of the forward's
  bool deterministic = false;  // of gradients
  std::string dtype = "fp16";
  std::string kernel;  // empty: dispatch chooses
  int splits = 0;      // 0: dispatch chooses
};
// Throws Error when no kernel takes it.
Forecast predict_attention(const AttentionRequest& request, const flashmoe::device::Spec& gpu);

struct KernelRequest {
  std::string name = "kernel";
  flashmoe::device::Launch launch;
  flashmoe::device::Work work;
};
Forecast predict_kernel(const KernelRequest& request, const flashmoe::device::Spec& gpu);

}  // namespace dent
