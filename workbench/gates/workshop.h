// SPDX-License-Identifier: MIT
// What gates work with: the project's problems, its inputs, and workers for its kernels.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "build/compile.h"
#include "project/project.h"
#include "workers/input_pool.h"
#include "workers/resources.h"
#include "workers/worker.h"

namespace dent {

class Workshop {
 public:
  // `logs`: what workers print is kept here.
  Workshop(const Project& project, Resources resources, std::filesystem::path dent_folder,
           std::filesystem::path logs);

  const Project& project() const { return project_; }
  const std::vector<Problem>& problems() const { return problems_; }  // in the order of the shapes
  InputPool& pool() { return pool_; }
  const std::string& python() const { return python_; }
  const Resources& resources() const { return resources_; }
  const std::filesystem::path& logs() const { return logs_; }
  void log_into(std::filesystem::path folder) { logs_ = std::move(folder); }  // from the next worker on

  // Builds it, or finds it built. Remembers the result.
  const Built& build(const Kernel& kernel, bool clean = false);
  // "" unless the kernel's library or sources have changed since build().
  std::string stale(const Kernel& kernel) const;

  // A process with the kernel loaded. Throws KernelFailed.
  std::unique_ptr<Worker> start(const Kernel& kernel, Role role);
  // The same under a memory checker: AddressSanitizer built in, or compute-sanitizer around it. Throws Error
  // (environment) where there is none.
  std::unique_ptr<Worker> start_sanitized(const Kernel& kernel);
  // The same under a profiler: `prefix` goes in front of the worker program, which tells it what to look at.
  std::unique_ptr<Worker> start_profiled(const Kernel& kernel, const std::vector<std::string>& prefix);
  // The process that knows what is right.
  std::unique_ptr<Worker> start_reference();

  // How many calls a stretch may hold, for the memory that their tensors take.
  std::size_t most_calls(const Problem& problem) const;

 private:
  WorkerSetup setup(Role role) const;
  std::unique_ptr<Worker> start_with(const Kernel& kernel, Role role, const std::vector<std::string>& prefix);

  const Project& project_;
  Resources resources_;
  std::filesystem::path folder_;
  std::filesystem::path logs_;
  std::string python_;
  std::vector<Problem> problems_;
  InputPool pool_;
  std::map<std::string, Built> built_;
};

// The problem as the reference is asked it: outputs in its own type, and for attention with their bounds.
Problem reference_problem(const Operator& op, const Problem& problem);

}  // namespace dent
