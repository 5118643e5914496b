// SPDX-License-Identifier: MIT
#include "gpu/on_gpu.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "device/probe.h"
#include "dispatch/run.h"
#include "numeric/pair_value.h"
#include "support/sequences.h"

namespace flashmoe::test {
namespace {

constexpr unsigned char kPattern = 0xA5;

std::size_t lse_bytes(const Problem& p) {
  return static_cast<std::size_t>(p.problem.batch * p.problem.q_heads * p.problem.q_rows) * sizeof(float);
}

void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cudaMemcpy");
}

// Marks the bytes that belong to rows.
std::vector<bool> row_bytes(const Tensor& t) {
  std::vector<bool> inside(extent_bytes(t), false);
  const auto size = static_cast<std::size_t>(element_bytes(t.dtype));
  for (int64_t b = 0; b < t.sizes[0]; ++b) {
    for (int64_t h = 0; h < t.sizes[1]; ++h) {
      for (int64_t s = 0; s < t.sizes[2]; ++s) {
        const auto at =
            static_cast<std::size_t>(b * t.strides[0] + h * t.strides[1] + s * t.strides[2]) * size;
        std::fill_n(inside.begin() + static_cast<std::ptrdiff_t>(at),
                    static_cast<std::size_t>(t.sizes[3]) * size, true);
      }
    }
  }
  return inside;
}

}  // namespace

std::size_t extent_bytes(const Tensor& t) {
  int64_t elements = t.sizes[3];
  for (std::size_t i = 0; i < 3; ++i) elements += (t.sizes[i] - 1) * t.strides[i];
  return static_cast<std::size_t>(elements * element_bytes(t.dtype));
}

std::size_t slopes_bytes(const Scores& scores, int64_t batch, int64_t heads) {
  if (scores.alibi_slopes == nullptr) return 0;
  return static_cast<std::size_t>((batch - 1) * scores.slopes_batch_stride + heads) * sizeof(float);
}

std::size_t sinks_bytes(const Scores& scores, int64_t heads) {
  return scores.sinks == nullptr ? 0 : static_cast<std::size_t>(heads) * sizeof(float);
}

std::size_t pairs_bytes(const PairTensor& pairs, const ForwardProblem& p) {
  const int64_t sizes[] = {p.batch, p.q_heads, p.q_rows, p.kv_rows};
  if (pairs.data == nullptr || std::find(std::begin(sizes), std::end(sizes), 0) != std::end(sizes)) return 0;
  int64_t elements = 1;
  for (std::size_t i = 0; i < 4; ++i) elements += (sizes[i] - 1) * pairs.strides[i];
  return static_cast<std::size_t>(elements * element_bytes(pairs.type));
}

std::string no_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) return std::string("no GPU: ") + cudaGetErrorString(status);
  if (count == 0) return "no GPU in this machine";
  const device::Spec spec = device::probe();
  if (spec.arch < 80) return "the GPU has compute capability " + std::to_string(spec.arch) + ", below 80";
  return "";
}

void check_cuda(int status, const char* call) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(static_cast<cudaError_t>(status)));
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  check_cuda(cudaMalloc(reinterpret_cast<void**>(&memory_), bytes + 2 * kGuard), "cudaMalloc");
  check_cuda(cudaMemset(memory_, kPattern, bytes + 2 * kGuard), "cudaMemset");
}

DeviceBuffer::~DeviceBuffer() { cudaFree(memory_); }

void* DeviceBuffer::data() const { return memory_ + kGuard; }

bool DeviceBuffer::guards_are_intact() const {
  std::vector<unsigned char> guards(2 * kGuard);
  copy(guards.data(), memory_, kGuard);
  copy(guards.data() + kGuard, memory_ + kGuard + bytes_, kGuard);
  return std::all_of(guards.begin(), guards.end(), [](unsigned char byte) { return byte == kPattern; });
}

GpuProblem::GpuProblem(Problem& host)
    : args(host.args),
      host_(host),
      q_(extent_bytes(host.args.q)),
      k_(extent_bytes(host.args.k)),
      v_(extent_bytes(host.args.v)),
      out_(extent_bytes(host.args.out)),
      lse_(lse_bytes(host)),
      slopes_(slopes_bytes(host.args.scores, sequences_of(host.args), host.problem.q_heads)),
      sinks_(sinks_bytes(host.args.scores, host.problem.q_heads)),
      pairs_(pairs_bytes(host.args.scores.attn_mask, host.problem)),
      spans_(host.args.spans, host.args.lengths, host.args.k),
      lengths_(host.args.lengths) {
  args.spans = spans_.spans;
  args.lengths = lengths_.lengths;
  if (args.scores.alibi_slopes != nullptr)
    args.scores.alibi_slopes = static_cast<const float*>(slopes_.data());
  if (args.scores.sinks != nullptr) args.scores.sinks = static_cast<const float*>(sinks_.data());
  if (args.scores.attn_mask.data != nullptr) args.scores.attn_mask.data = pairs_.data();
  args.q.data = q_.data();
  args.k.data = k_.data();
  args.v.data = v_.data();
  args.out.data = out_.data();
  args.lse = host.args.lse ? static_cast<float*>(lse_.data()) : nullptr;
  args.execution.device = Device::cuda;
  upload_inputs();
  poison_outputs();
}

GpuLengths::GpuLengths(const Lengths& host) : lengths(host) {
  const auto mirror = [&](const int32_t*& array, int64_t count) {
    if (array == nullptr) return;
    const auto bytes = static_cast<std::size_t>(count) * sizeof(int32_t);
    buffers_.push_back(std::make_unique<DeviceBuffer>(bytes));
    copy(buffers_.back()->data(), array, bytes);
    array = static_cast<const int32_t*>(buffers_.back()->data());
  };
  mirror(lengths.q_starts, lengths.sequences + 1);
  mirror(lengths.k_starts, lengths.sequences + 1);
  mirror(lengths.q_used, lengths.sequences);
  mirror(lengths.k_used, lengths.sequences);
}

GpuSpans::GpuSpans(const Spans& host, const Lengths& lengths, const Tensor& k) : spans(host) {
  const auto mirror = [&](const int32_t*& array, int64_t count) {
    if (array == nullptr) return;
    const auto bytes = static_cast<std::size_t>(count) * sizeof(int32_t);
    buffers_.push_back(std::make_unique<DeviceBuffer>(bytes));
    copy(buffers_.back()->data(), array, bytes);
    array = static_cast<const int32_t*>(buffers_.back()->data());
  };
  const int64_t sequences = lengths.given() ? lengths.sequences : k.sizes[0];  // packed ones are one entry
  mirror(spans.documents, (k.sizes[0] - 1) * spans.documents_stride + k.sizes[2]);
  mirror(spans.prefix, sequences);
  mirror(spans.left_padding, sequences);
}

void GpuProblem::upload_inputs() {
  copy(q_.data(), host_.args.q.data, q_.bytes());
  copy(k_.data(), host_.args.k.data, k_.bytes());
  copy(v_.data(), host_.args.v.data, v_.bytes());
  copy(slopes_.data(), host_.args.scores.alibi_slopes, slopes_.bytes());
  copy(sinks_.data(), host_.args.scores.sinks, sinks_.bytes());
  copy(pairs_.data(), host_.args.scores.attn_mask.data, pairs_.bytes());
}

void GpuProblem::poison_outputs() {
  check_cuda(cudaMemset(out_.data(), 0xFF, out_.bytes()), "cudaMemset");
  check_cuda(cudaMemset(lse_.data(), 0xFF, lse_.bytes()), "cudaMemset");
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

dispatch::ForwardPlan GpuProblem::launch(const dispatch::ForwardChoice& choice, void* stream) {
  args.execution.stream = stream;
  const auto plan =
      dispatch::plan_forward(host_.problem, dispatch::addressing_of(args), device::probe(), choice);
  if (!workspace_ || workspace_->bytes() < plan.workspace_bytes) {
    workspace_ = std::make_unique<DeviceBuffer>(plan.workspace_bytes);
  }
  dispatch::run_forward(plan, host_.problem, args, {workspace_->data(), workspace_->bytes()});
  return plan;
}

void GpuProblem::launch_by_api(void* stream) {
  args.execution.stream = stream;
  if (!workspace_) workspace_ = std::make_unique<DeviceBuffer>(forward_workspace_bytes(args));
  attention_forward(args, {workspace_->data(), workspace_->bytes()});
}

std::string GpuProblem::download() {
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::vector<unsigned char> bytes(out_.bytes());
  copy(bytes.data(), out_.data(), bytes.size());
  const std::vector<bool> inside = row_bytes(args.out);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (!inside[i] && bytes[i] != 0xFF)
      return "a gap between rows of out was written at byte " + std::to_string(i);
  }
  // Only rows go back: what lies between them on the host has a poison of its own.
  auto* out = static_cast<unsigned char*>(host_.args.out.data);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (inside[i]) out[i] = bytes[i];
  }
  if (args.lse != nullptr) copy(host_.args.lse, lse_.data(), lse_.bytes());
  const bool intact = q_.guards_are_intact() && k_.guards_are_intact() && v_.guards_are_intact() &&
                      out_.guards_are_intact() && lse_.guards_are_intact() &&
                      (!workspace_ || workspace_->guards_are_intact());
  return intact ? "" : "memory beside a tensor was written";
}

std::string trouble_on_gpu(const Shape& shape, const dispatch::ForwardChoice& choice) {
  try {
    Problem problem(shape);
    GpuProblem gpu(problem);
    gpu.launch(choice);
    std::string wrong = gpu.download();
    if (wrong.empty()) wrong = problem.disagreement();
    return wrong.empty() ? "" : describe(shape) + ": " + wrong;
  } catch (const std::exception& error) {
    return describe(shape) + ": " + error.what();
  }
}

}  // namespace flashmoe::test
