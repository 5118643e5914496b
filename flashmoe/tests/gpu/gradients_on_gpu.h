// SPDX-License-Identifier: MIT
// A backward problem's tensors on the GPU: same strides, same gaps, guards around each tensor.
#pragma once

#include <memory>
#include <vector>

#include "dispatch/run_backward.h"
#include "gpu/on_gpu.h"
#include "support/backward_problem.h"

namespace flashmoe::test {

class GpuGradients {
 public:
  GpuGradients(BackwardProblem& host, bool deterministic, const dispatch::BackwardChoice& choice = {});

  void launch();

  // Waits, and copies gradients back; what else was written, or "".
  std::string download();

  const BackwardArgs& args() const { return args_; }

 private:
  void* mirror(const void* data, std::size_t bytes);
  Tensor mirror(const Tensor& t);

  BackwardProblem& host_;
  BackwardArgs args_;
  dispatch::BackwardPlan plan_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::unique_ptr<DeviceBuffer> workspace_;
  GpuSpans spans_;
  GpuLengths lengths_;
};

// A backward kernel as a test insists on it: every row of the table of one that has a choice.
struct BackwardForm {
  dispatch::BackwardChoice choice;
  int64_t head_dim;  // that it is compiled for; 0: any
};
std::vector<BackwardForm> backward_forms_here();
std::string describe(const dispatch::BackwardChoice& choice);

// How a test asks for gradients.
struct How {
  dispatch::BackwardChoice choice{};
  bool deterministic = false;
  bool with_dlse = false;
};
// What is wrong with them, computed twice in one workspace; "" for nothing.
std::string trouble_with_gradients(const Shape& shape, const How& how = {});

}  // namespace flashmoe::test
