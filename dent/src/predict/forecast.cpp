// SPDX-License-Identifier: MIT
#include "predict/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "dispatch/predict.h"
#include "dispatch/predict_backward.h"
#include "flashmoe/error.h"

namespace dent {
namespace {

namespace device = flashmoe::device;
namespace dispatch = flashmoe::dispatch;

flashmoe::DType dtype_called(const std::string& name) {
  if (name == "fp16") return flashmoe::DType::fp16;
  if (name == "bf16") return flashmoe::DType::bf16;
  if (name == "fp32") return flashmoe::DType::fp32;
  throw Error(ErrorCode::invalid, "--dtype is \"" + name + "\"; accepted are fp16, bf16 and fp32");
}

constexpr dispatch::ForwardKernel kForward[] = {
    dispatch::ForwardKernel::naive, dispatch::ForwardKernel::ampere_forward,
    dispatch::ForwardKernel::hopper_forward, dispatch::ForwardKernel::small_forward,
    dispatch::ForwardKernel::decode_forward};
constexpr dispatch::BackwardKernel kBackward[] = {dispatch::BackwardKernel::naive_backward,
                                                  dispatch::BackwardKernel::ampere_backward,
                                                  dispatch::BackwardKernel::hopper_backward};

template <class Kernel, std::size_t n>
std::optional<Kernel> kernel_called(const std::string& name, const Kernel (&all)[n]) {
  if (name.empty()) return {};  // dispatch chooses the kernel
  std::string names;
  for (const Kernel kernel : all) {
    if (name == dispatch::name_of(kernel)) return kernel;
    names += std::string(names.empty() ? "" : ", ") + dispatch::name_of(kernel);
  }
  throw Error(ErrorCode::invalid, "--kernel is \"" + name + "\"; kernels are " + names);
}

flashmoe::ForwardProblem problem_of(const AttentionRequest& request) {
  flashmoe::ForwardProblem p;
  p.batch = request.sizes[0];
  p.q_heads = request.sizes[1];
  p.q_rows = request.sizes[2];
  p.head_dim = request.sizes[3];
  p.kv_heads = request.kv_heads > 0 ? request.kv_heads : p.q_heads;
  p.kv_rows = request.kv_rows > 0 ? request.kv_rows : p.q_rows;
  p.dtype = dtype_called(request.dtype);
  p.mask = request.causal ? flashmoe::Mask::causal : flashmoe::Mask::none;
  p.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(p.head_dim)));
  if (p.q_heads % p.kv_heads != 0) {
    throw Error(ErrorCode::invalid,
                fmt::format("{} query heads can't share {} K/V heads", p.q_heads, p.kv_heads),
                "choose --hkv so that it divides H");
  }
  return p;
}

std::string title_of(const flashmoe::ForwardProblem& p, bool with_rows = true) {
  std::string title = fmt::format("B={} H={}", p.batch, p.q_heads);
  if (p.kv_heads != p.q_heads) title += fmt::format("/{}", p.kv_heads);
  if (with_rows) {
    title += p.kv_rows == p.q_rows ? fmt::format(" S={}", p.q_rows)
                                   : fmt::format(" Sq={} Skv={}", p.q_rows, p.kv_rows);
  }
  return title + fmt::format(" D={} {}{}", p.head_dim, name_of(p.dtype),
                             p.mask == flashmoe::Mask::none ? "" : " causal");
}

std::string needs(const device::BlockNeeds& block) {
  return fmt::format("{} threads, {}{:.1f} KB of shared memory", block.threads,
                     block.registers > 0 ? fmt::format("{} registers, ", block.registers) : "",
                     block.smem_bytes / 1024.0);
}

void add_notes(Forecast& f) {
  const device::Prediction& p = f.prediction;
  if (!p.fits) f.notes.push_back("the launch fails: " + device::refusal(f.gpu, f.launch.block));
  if (p.expected_us < f.gpu.reached.host_launch_us) {
    f.notes.push_back(fmt::format("a launch takes the host about {:.1f} us: use a CUDA graph",
                                  f.gpu.reached.host_launch_us.value));
  }
  if (const auto more = device::one_more_block(f.gpu, f.launch.block); more && p.waves > 1) {
    f.notes.push_back(fmt::format("{} {} -> {}: {} -> {} CTAs an SM", device::name_of(more->limiter),
                                  more->now, more->then, p.occupancy.blocks, more->blocks));
  }
}

void take(Forecast& f, const dispatch::Forecast& forecast) {
  f.launch = forecast.launch;
  f.work = forecast.work;
  f.prediction = forecast.prediction;
  f.detail += needs(f.launch.block);
}

void add_forward(Forecast& f, const AttentionRequest& request, const flashmoe::ForwardProblem& problem,
                 dispatch::Cache cache) {
  dispatch::ForwardChoice choice{.kernel = kernel_called(request.kernel, kForward)};
  if (request.splits > 0) choice.num_splits = request.splits;
  const dispatch::ForwardPlan plan = dispatch::plan_forward(problem, true, f.gpu, choice);
  f.kernel = dispatch::name_of(plan.kernel);
  f.detail = fmt::format("{} x {} tiles, ", plan.tile_q, plan.tile_kv);
  if (plan.pack > 1) f.detail += fmt::format("{} heads packed, ", plan.pack);
  if (plan.num_splits > 1) f.detail += fmt::format("{} splits, ", plan.num_splits);
  if (plan.cluster > 1) f.detail += fmt::format("clusters of {}, ", plan.cluster);
  f.why = plan.reason;
  take(f, dispatch::predict_forward(plan, problem, f.gpu, cache));
  f.changes = dispatch::forward_changes(plan, problem, f.gpu, cache);
  f.calibrated = f.gpu.arch == 90 && plan.kernel != dispatch::ForwardKernel::naive;
}

void add_backward(Forecast& f, const AttentionRequest& request, const flashmoe::ForwardProblem& problem,
                  dispatch::Cache cache) {
  const auto plan = dispatch::plan_backward(problem, true, f.gpu, request.deterministic,
                                            {.kernel = kernel_called(request.kernel, kBackward)});
  f.kernel = dispatch::name_of(plan.kernel);
  f.detail = fmt::format("{} x {} tiles, {}", plan.tile_q, plan.tile_kv,
                         plan.deterministic ? "deterministic, " : "");
  f.why = plan.reason;
  take(f, dispatch::predict_backward(plan, problem, f.gpu, cache));
  f.calibrated = f.gpu.arch == 90 && plan.kernel != dispatch::BackwardKernel::naive_backward;
}

}  // namespace

Forecast predict_attention(const AttentionRequest& request, const device::Spec& gpu) {
  const flashmoe::ForwardProblem problem = problem_of(request);
  if (request.backward && request.splits > 0)
    throw Error(ErrorCode::invalid, "--splits does not apply to gradients", "remove --splits");
  if (request.deterministic && !request.backward)
    throw Error(ErrorCode::invalid, "--deterministic applies to gradients only; the forward always is",
                "remove --deterministic");
  const auto cache = request.warm ? dispatch::Cache::warm : dispatch::Cache::cold;
  const std::string direction = request.backward ? " backward" : "";
  Forecast f;
  f.gpu = gpu;
  f.title = title_of(problem) + direction;
  f.family = title_of(problem, false) + direction;
  f.size = static_cast<double>(std::max(problem.q_rows, problem.kv_rows));
  try {
    request.backward ? add_backward(f, request, problem, cache) : add_forward(f, request, problem, cache);
  } catch (const flashmoe::Error& error) {
    throw Error(ErrorCode::invalid, fmt::format("{} on the {}: {}", f.title, gpu.name, error.what()));
  }
  add_notes(f);
  return f;
}

Forecast predict_kernel(const KernelRequest& request, const device::Spec& gpu) {
  Forecast f;
  f.gpu = gpu;
  f.title = f.kernel = request.name;
  f.size = static_cast<double>(request.launch.ctas);
  f.launch = request.launch;
  f.work = request.work;
  f.detail = needs(f.launch.block);
  if (f.launch.cluster > 1) f.detail += fmt::format(", clusters of {}", f.launch.cluster);
  f.prediction = device::predict_plain(gpu, f.launch, f.work);
  f.changes = device::changes(gpu, f.launch, f.work);
  add_notes(f);
  return f;
}

}  // namespace dent
