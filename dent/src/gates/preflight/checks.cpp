// SPDX-License-Identifier: MIT
#include "gates/preflight/checks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "base/text.h"
#include "build/toolchain.h"
#include "gates/performance/watch.h"
#include "system/capture.h"
#include "system/confinement.h"

namespace dent {
namespace {

constexpr double kGiB = static_cast<double>(1LL << 30);
constexpr double kLeastDiskGiB = 0.5;
constexpr double kIdleBelowPercent = 10;
constexpr std::chrono::milliseconds kLookAround{150};
// nvidia-smi reports utilisation with a delay of up to a second, so a dent that has just ended may still
// show.
constexpr std::chrono::milliseconds kLookAgain{300};
constexpr int kMostLooks = 5;

bool any_kernel(const Project& project, const std::function<bool(const Kernel&)>& test) {
  if (test(project.kernel)) return true;
  return std::any_of(project.baselines.begin(), project.baselines.end(), test);
}

double available_memory_gib() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    double kilobytes = 0;
    file >> kilobytes;
    if (key == "MemAvailable:") return kilobytes * 1024 / kGiB;
    file.ignore(256, '\n');
  }
  return 0;
}

double memory_needed_gib(const Project& project) {
  double bytes = 0;
  for (const Shape& shape : project.shapes) {
    const Problem problem = make_problem(project.op, shape);
    double one = 0;
    for (const auto* tensors : {&problem.inputs, &problem.outputs}) {
      for (const Tensor& tensor : *tensors) one += static_cast<double>(tensor.bytes());
    }
    bytes = std::max(bytes, 8 * one);  // tensors of two sides, the pool, and expected values in fp64
  }
  return bytes / kGiB + 0.5;
}

// Values of these fields for the first GPU; empty if nvidia-smi fails or does not know a field.
std::vector<std::string> ask_gpu(const std::string& query) {
  const auto answer = capture({"nvidia-smi", "--query-gpu=" + query, "--format=csv,noheader,nounits"}, 4);
  std::vector<std::string> fields;
  if (!answer) return fields;
  std::istringstream row(first_line(*answer));
  for (std::string field; std::getline(row, field, ',');) {
    fields.push_back(field.substr(std::min(field.find_first_not_of(' '), field.size())));
  }
  return fields;
}

}  // namespace

std::vector<Check> compiler_checks(const Project& project) {
  std::vector<Check> checks;
  const auto compiled = [](const Kernel& kernel) {
    return !kernel.sources.empty() && kernel.library.empty();
  };
  if (any_kernel(project, compiled)) {
    const std::string version = version_of(cxx_compiler());
    if (version.empty()) {
      checks.push_back(
          {"C++ compiler", StepVerdict::fail, cxx_compiler() + " can't be run", "install g++, or set CXX"});
    } else {
      checks.push_back({"C++ compiler", StepVerdict::pass, version});
    }
  }
  if (any_kernel(project, [&](const Kernel& k) { return compiled(k) && k.device == DeviceKind::cuda; })) {
    const std::string nvcc = nvcc_compiler();
    if (nvcc.empty()) {
      checks.push_back({"CUDA compiler", StepVerdict::fail, "no nvcc in PATH, CUDA_HOME or /usr/local/cuda",
                        "install the CUDA toolkit, or set CUDA_HOME to where it is"});
    } else {
      checks.push_back({"CUDA compiler", StepVerdict::pass, version_of(nvcc)});
    }
  }
  return checks;
}

std::vector<Check> machine_checks(const Project& project) {
  std::vector<Check> checks;
  const Watch watch({});
  std::this_thread::sleep_for(kLookAround);
  const Disturbance now = watch.so_far();
  const bool busy = is_busy(now, project.performance.quiet);
  checks.push_back({"idle machine", busy ? StepVerdict::skipped : StepVerdict::pass,
                    fmt::format("other programs use {:.1f} of {} processors", now.others, now.processors),
                    busy ? "wait for them to end (top lists them); until then a speed of the CPU is a busy "
                           "marked as those of a busy machine"
                         : ""});
  const double memory = available_memory_gib();
  const double needed = memory_needed_gib(project);
  checks.push_back({"memory", memory >= needed ? StepVerdict::pass : StepVerdict::fail,
                    fmt::format("{:.1f} GiB free, {:.1f} needed", memory, needed),
                    memory >= needed ? "" : "close other programs, or remove the largest shapes"});
  std::error_code problem;
  const auto space = std::filesystem::space(project.directory, problem);
  const double disk = problem ? 0 : static_cast<double>(space.available) / kGiB;
  checks.push_back({"disk", disk >= kLeastDiskGiB ? StepVerdict::pass : StepVerdict::fail,
                    fmt::format("{:.1f} GiB free", disk),
                    disk >= kLeastDiskGiB
                        ? ""
                        : fmt::format("free at least {} GiB: dent writes its ledger there", kLeastDiskGiB)});
  const auto commit = capture({"git", "rev-parse", "--short", "HEAD"}, 2, project.directory);
  if (!commit) {
    checks.push_back({"git", StepVerdict::skipped, "no git repository",
                      "git init, so that a result can be traced to a commit"});
  } else {
    const auto dirty =
        capture({"git", "--no-optional-locks", "status", "--porcelain", "--", "."}, 2, project.directory);
    const bool changed = dirty && !dirty->empty();
    checks.push_back({"git", StepVerdict::pass,
                      first_line(*commit) + (changed ? ", with uncommitted changes" : ", clean")});
  }
  return checks;
}

std::vector<Check> wall_checks(const Cell& cell) {
  std::vector<Check> checks;
  if (cell.stands()) {
    checks.push_back({"cell", StepVerdict::pass,
                      "kernels, builds and references run in a cell (" + cell.in_words() + ")"});
  } else {
    checks.push_back({"cell", StepVerdict::skipped, cell.why_not(), cell.remedy()});
  }
  const std::string& open_to_others = why_not_confined();
  checks.push_back(
      {"confinement", open_to_others.empty() ? StepVerdict::pass : StepVerdict::skipped,
       open_to_others.empty() ? "kernels can't act on other processes" : open_to_others,
       open_to_others.empty()
           ? ""
           : "what a kernel does to other processes is only seen afterwards; Linux 5.5 or newer, "
             "outside a container's sandbox, can refuse them"});
  return checks;
}

std::vector<Check> python_checks(const Project& project, const std::string& python) {
  const auto in_python = [](const Kernel& kernel) { return !kernel.python.empty(); };
  const bool needed = !project.kernel.python.empty() ||
                      project.op.reference.kind == Reference::Kind::python || !project.op.inputs_from.empty();
  if (!needed && !any_kernel(project, in_python)) return {};
  const auto found = capture({python, "-c",
                              "import sys, numpy, importlib.util as u\n"
                              "print('Python', sys.version.split()[0], 'NumPy', numpy.__version__, end='')\n"
                              "print(', PyTorch' if u.find_spec('torch') else ', no PyTorch')"},
                             30, "/");  // Python imports from where it stands
  if (found) return {{"Python", StepVerdict::pass, first_line(*found) + " (" + python + ")"}};
  const std::string fix =
      "pip install numpy, or name another interpreter: DENT_PYTHON=... or interpreter = \"...\" in dent.toml";
  return {{"Python", needed ? StepVerdict::fail : StepVerdict::skipped, python + " can't import numpy", fix}};
}

std::vector<Check> gpu_checks(const Project& project) {
  if (!any_kernel(project, [](const Kernel& kernel) { return kernel.device == DeviceKind::cuda; })) {
    return {{"GPU", StepVerdict::skipped, "not needed by this project"}};
  }
  std::vector<std::string> fields;
  const auto idle_now = [&fields] { return std::atof(fields[4].c_str()) < kIdleBelowPercent; };
  for (int look = 0; look < kMostLooks; ++look) {
    if (look > 0) std::this_thread::sleep_for(kLookAgain);
    fields = ask_gpu("name,driver_version,memory.used,memory.total,utilization.gpu");
    if (fields.size() < 5 || idle_now()) break;
  }
  if (fields.size() < 5) {
    return {{"GPU", StepVerdict::fail, "nvidia-smi finds no GPU",
             "run this on a machine with an NVIDIA GPU and its driver"}};
  }
  std::vector<Check> checks{{"GPU", StepVerdict::pass, fields[0] + ", driver " + fields[1]}};
  const bool idle = idle_now();
  checks.push_back({"GPU idle", idle ? StepVerdict::pass : StepVerdict::fail,
                    fmt::format("{} % busy, {} of {} MiB in use", fields[4], fields[2], fields[3]),
                    idle ? "" : "wait for the programs that nvidia-smi lists, or set CUDA_VISIBLE_DEVICES"});
  auto reasons = ask_gpu("clocks_event_reasons.active");  // drivers before 535 use another name
  if (reasons.empty()) reasons = ask_gpu("clocks_throttle_reasons.active");
  if (!reasons.empty()) {
    // Bits 0 and 1 mean idle and application clocks; all others are slowdowns.
    const bool slow = (std::strtoull(reasons[0].c_str(), nullptr, 16) & ~std::uint64_t{3}) != 0;
    checks.push_back({"GPU clock", slow ? StepVerdict::skipped : StepVerdict::pass,
                      slow ? "throttled, reasons " + reasons[0] : "not throttled",
                      slow ? "let the GPU cool down, or lock its clock (nvidia-smi -lgc)" : ""});
  }
  std::ifstream parameters("/proc/driver/nvidia/params");
  for (std::string line; std::getline(parameters, line);) {
    if (line.rfind("RmProfilingAdminOnly:", 0) != 0) continue;
    const bool allowed = line.find('0') != std::string::npos || geteuid() == 0;
    checks.push_back(
        {"profiler counters", allowed ? StepVerdict::pass : StepVerdict::skipped,
         allowed ? "permitted" : "only root may read them",
         allowed
             ? ""
             : "options nvidia NVreg_RestrictProfilingToAdminUsers=0 in /etc/modprobe.d, or run as root"});
  }
  return checks;
}

}  // namespace dent
