// SPDX-License-Identifier: MIT
// A problem's tensors on the GPU, poisoned outputs and guards around them included.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/plan.h"
#include "support/problem.h"

namespace flashmoe::test {

// Why there is nothing to test here; "" when there is a GPU that our kernels run on.
std::string no_gpu();

// Throws with the call's name and the CUDA error.
void check_cuda(int status, const char* call);

// From a tensor's first element to its last.
std::size_t extent_bytes(const Tensor& t);

// Device memory with guard zones on both sides, all of it filled with a pattern first.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  void* data() const;
  std::size_t bytes() const { return bytes_; }
  bool guards_are_intact() const;

 private:
  static constexpr std::size_t kGuard = 256;
  std::byte* memory_ = nullptr;
  std::size_t bytes_;
};

// The arrays of a problem's spans on the GPU.
class GpuSpans {
 public:
  GpuSpans(const Spans& host, const Lengths& lengths, const Tensor& k);

  Spans spans;  // device pointers

 private:
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
};

// The arrays of a problem's lengths on the GPU.
class GpuLengths {
 public:
  explicit GpuLengths(const Lengths& host);

  Lengths lengths;  // device pointers

 private:
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
};

// Bytes of what changes the scores of a problem with so many batch entries and query heads.
std::size_t slopes_bytes(const Scores& scores, int64_t batch, int64_t heads);
std::size_t sinks_bytes(const Scores& scores, int64_t heads);
std::size_t pairs_bytes(const PairTensor& pairs, const ForwardProblem& problem);

// The mirror of a problem: same strides, same gaps. Uploads on construction.
class GpuProblem {
 public:
  explicit GpuProblem(Problem& host);

  // Launches on `stream` and returns; `choice` insists on a kernel or on splits.
  dispatch::ForwardPlan launch(const dispatch::ForwardChoice& choice = {}, void* stream = nullptr);
  // Through attention_forward, as a caller would.
  void launch_by_api(void* stream = nullptr);

  void upload_inputs();
  void poison_outputs();
  // Waits, copies out and lse back into the host problem, and says what else was written; "" when nothing
  // was.
  std::string download();

  ForwardArgs args;  // device pointers

 private:
  Problem& host_;
  DeviceBuffer q_, k_, v_, out_, lse_;
  DeviceBuffer slopes_, sinks_, pairs_;
  std::unique_ptr<DeviceBuffer> workspace_;
  GpuSpans spans_;
  GpuLengths lengths_;
};

// Runs the problem and judges it: "" or the first thing that is wrong.
std::string trouble_on_gpu(const Shape& shape, const dispatch::ForwardChoice& choice = {});

}  // namespace flashmoe::test

#define EXPECT_RUNS_ON_GPU(...) EXPECT_EQ(::flashmoe::test::trouble_on_gpu(__VA_ARGS__), "")

// First line of every test here.
#define SKIP_WITHOUT_GPU() \
  if (const std::string reason = ::flashmoe::test::no_gpu(); !reason.empty()) GTEST_SKIP() << reason
