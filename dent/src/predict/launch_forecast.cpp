// SPDX-License-Identifier: MIT
#include "predict/launch_forecast.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "predict/gpus.h"
#include "predict/show.h"

namespace dent {
namespace {

namespace device = flashmoe::device;

// The GPU that the manifest names, otherwise this machine's; nothing if that is missing or unknown.
std::optional<device::Spec> gpu_of(const LaunchRule& launch) {
  if (!launch.gpu.empty()) return gpu_called(launch.gpu);
  if (gpu_name_here().empty()) return std::nullopt;
  try {
    return gpu_called("here");
  } catch (const Error&) {
    return std::nullopt;  // an unknown GPU: no prediction, but no error either
  }
}

std::int64_t whole(const std::string& expression, const char* key, const Problem& problem,
                   std::int64_t least) {
  const double value = evaluate(expression, problem.numbers);
  if (!(value >= static_cast<double>(least)) || value > 1e12 || value != std::floor(value)) {
    throw Error(ErrorCode::invalid,
                fmt::format("kernel.launch.{} = \"{}\" is {} for shape {}; it must be whole and at least {}",
                            key, expression, value, problem.shape, least),
                "correct the expression in dent.toml; ceil(S/64) rounds up");
  }
  return static_cast<std::int64_t>(value);
}

// Multiplies expressions such as "ceil(S/64), max(B, 2)", separated by commas outside parentheses.
std::int64_t product(const std::string& expressions, const char* key, const Problem& problem) {
  std::int64_t result = 1;
  int depth = 0;
  std::string part;
  for (const char c : expressions + ",") {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      result *= whole(part, key, problem, 1);
      part.clear();
    } else {
      part += c;
    }
  }
  if (!part.empty())
    whole(part.substr(0, part.size() - 1), key, problem, 1);  // unclosed parenthesis: reports its position
  return result;
}

// The kernel that the launch rule is for: by name, otherwise the one with most registers.
const KernelResources* kernel_of(const LaunchRule& launch, const std::vector<KernelResources>& kernels) {
  const KernelResources* found = nullptr;
  for (const KernelResources& kernel : kernels) {
    if (kernel.name.find(launch.kernel) == std::string::npos) continue;
    if (found == nullptr || kernel.registers > found->registers) found = &kernel;
  }
  if (found == nullptr && !launch.kernel.empty() && !kernels.empty()) {
    throw Error(ErrorCode::invalid,
                "kernel.launch.kernel is \"" + launch.kernel + "\"; no compiled kernel has that name",
                "choose one of those listed in artifacts/build.log");
  }
  return found;
}

Forecast by_launch(const LaunchRule& launch, const Problem& problem, const KernelResources* kernel,
                   const device::Spec& gpu) {
  KernelRequest request;
  request.launch.ctas = product(launch.grid, "grid", problem);
  request.launch.block.threads = static_cast<int>(product(launch.block, "block", problem));
  if (!launch.smem.empty())
    request.launch.block.smem_bytes = static_cast<int>(whole(launch.smem, "smem", problem, 0));
  if (!launch.cluster.empty())
    request.launch.cluster = static_cast<int>(whole(launch.cluster, "cluster", problem, 1));
  if (!launch.exps.empty()) request.work.exps = evaluate(launch.exps, problem.numbers);
  if (kernel != nullptr) {
    request.name = kernel->name.substr(0, kernel->name.find('('));
    request.launch.block.registers = kernel->registers;
    request.launch.block.smem_bytes += kernel->static_smem_bytes;
  }
  bool sixteen_bits = false;
  double bytes = 0;
  for (const auto* tensors : {&problem.inputs, &problem.outputs}) {
    for (const Tensor& tensor : *tensors) bytes += static_cast<double>(tensor.bytes());
  }
  for (const Tensor& tensor : problem.inputs) sixteen_bits = sixteen_bits || bytes_of(tensor.dtype) == 2;
  (sixteen_bits ? request.work.matrix_flops : request.work.fp32_flops) = problem.flops;
  request.work.dram_bytes = problem.bytes > 0 ? problem.bytes : bytes;
  return predict_kernel(request, gpu);
}

Forecast by_flashmoe(const Problem& problem, const device::Spec& gpu) {
  const auto size = [&](const char* name, std::int64_t otherwise) {
    const auto found = problem.numbers.find(name);
    return found == problem.numbers.end() ? otherwise : static_cast<std::int64_t>(found->second);
  };
  AttentionRequest request;
  request.sizes = {size("B", 1), size("H", 1), size("Sq", size("S", 1)), size("D", 64)};
  request.kv_rows = size("Skv", 0);
  request.kv_heads = size("Hkv", 0);
  request.causal = size("causal", 0) != 0;
  request.dtype = problem.inputs.empty() ? "fp16" : name(problem.inputs[0].dtype);
  return predict_attention(request, gpu);
}

}  // namespace

LaunchForecast foresee(const Kernel& kernel_asked, std::vector<Problem> problems,
                       const std::vector<KernelResources>& kernels) {
  LaunchForecast found;
  const LaunchRule& launch = kernel_asked.launch;
  if (kernel_asked.device != DeviceKind::cuda || (!launch.is_given() && kernels.empty())) return found;
  for (Problem& problem : problems) {
    for (const auto& [name, value] : kernel_asked.defines) {
      char* end = nullptr;
      const double number = std::strtod(value.c_str(), &end);
      if (end != value.c_str() && *end == '\0') problem.numbers.emplace(name, number);
    }
  }
  const auto gpu = gpu_of(launch);
  if (!gpu) return found;
  for (const KernelResources& kernel : kernels) {
    if (kernel.static_smem_bytes > gpu->smem_per_block) {
      found.failure = fmt::format("{} uses {} bytes of shared memory; a block on the {} may use {}",
                                  kernel.name, kernel.static_smem_bytes, gpu->name, gpu->smem_per_block);
      found.next = "use smaller tiles";
      return found;
    }
  }
  if (!launch.is_given()) return found;
  const KernelResources* kernel = launch.by_flashmoe ? nullptr : kernel_of(launch, kernels);
  std::size_t idle = 0;
  double least = 1;
  std::string worst;
  for (const Problem& problem : problems) {
    const Forecast forecast =
        launch.by_flashmoe ? by_flashmoe(problem, *gpu) : by_launch(launch, problem, kernel, *gpu);
    const device::Prediction& p = forecast.prediction;
    found.predictions.push_back(to_record(forecast, problem.shape));
    if (!p.fits) {
      found.failure =
          fmt::format("shape {}: a block of {} threads can't run on the {}: it requests {}", problem.shape,
                      forecast.launch.block.threads, gpu->name, device::refusal(*gpu, forecast.launch.block));
      found.next = "use smaller tiles, or fewer registers with __launch_bounds__";
      return found;
    }
    if (p.ctas >= p.sms) continue;
    ++idle;
    if (p.chip_share < least) {
      least = p.chip_share;
      worst = problem.shape + ": " + device::headline(p, *gpu);
      if (!forecast.changes.empty()) worst += "; " + forecast.changes[0].what;
    }
  }
  if (idle > 0) {
    found.warning = fmt::format("less than one wave at {} of {} shapes ({})", idle, problems.size(), worst);
  }
  return found;
}

}  // namespace dent
