// SPDX-License-Identifier: MIT
// Starts processes for a project's kernels and its reference, and owns the inputs that they all read.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "build/kernel_builder.h"
#include "project/project.h"
#include "workers/device_turns.h"
#include "workers/input_source.h"
#include "workers/interpreter.h"
#include "workers/jit_store.h"
#include "workers/resources.h"
#include "workers/worker.h"

namespace dent {

class WorkerFactory {
 public:
  // `confined`: whether compared kernels are kept from acting on other processes, if the system supports it.
  WorkerFactory(const Project& project, Resources resources, KernelBuilder& builder, bool confined = true);

  const Project& project() const { return project_; }
  KernelBuilder& builder() const { return builder_; }
  const std::vector<Problem>& problems() const { return problems_; }  // in the order of the shapes
  InputSource& inputs() { return inputs_; }
  const InputPool& pool() const { return inputs_.pool(); }
  const std::string& python() const { return python_; }
  const Resources& resources() const { return resources_; }
  const Cell& cell() const { return cell_; }
  DeviceTurns& turns() const { return *turns_; }
  void share_turns(const WorkerFactory& other) { turns_ = other.turns_; }  // with one of the same session
  std::vector<std::string> walls() const;  // for the record: active protections, and why others are missing

  // Starts a process with the kernel loaded; its output goes to a file in `logs`. Processes that a judged
  // kernel leaves behind become our children. Throws KernelFailed.
  std::unique_ptr<Worker> start(const Kernel& kernel, Role role, const std::filesystem::path& logs);
  // Like start(), under a memory checker: built with AddressSanitizer, or run by compute-sanitizer. Throws
  // Error (environment) if there is none.
  std::unique_ptr<Worker> start_sanitized(const Kernel& kernel, const std::filesystem::path& logs);
  // Like start(), under a profiler: `prefix` precedes the worker program, which marks the kernel's launches.
  std::unique_ptr<Worker> start_profiled(const Kernel& kernel, const std::vector<std::string>& prefix,
                                         const std::filesystem::path& logs);
  // Starts a native CPU worker whose entry does nothing and which contains only our code.
  std::unique_ptr<Worker> start_empty();
  // Starts the process that computes expected outputs.
  std::unique_ptr<Worker> start_reference(const std::filesystem::path& logs);

  // What a Python function compiled when called; nullptr if it was not started yet, or compiles nothing.
  const Jitted* jitted(const Kernel& kernel) const;

  // How many calls a batch may hold, given the memory of their tensors.
  std::size_t most_calls(const Problem& problem) const;

 private:
  std::unique_ptr<Worker> start_sanitized_python(const Kernel& kernel, const std::filesystem::path& logs);
  WorkerSetup setup(Role role, const std::filesystem::path& logs) const;
  std::unique_ptr<Worker> start_input_maker();
  const Interpreter& interpreter();
  void run_in_python(WorkerSetup& how);
  void give_caches(WorkerSetup& how);
  void settle_jit(const Kernel& kernel, Worker& worker, const std::filesystem::path& scratch);
  void call_every_shape(Worker& worker);
  std::unique_ptr<Worker> start_with(WorkerSetup how, const Kernel& kernel,
                                     const std::vector<std::string>& prefix);

  const Project& project_;
  Resources resources_;
  KernelBuilder& builder_;
  std::string python_;
  std::optional<Interpreter> interpreter_;  // once it was asked
  std::vector<Problem> problems_;
  InputSource inputs_;
  JitStore jit_;
  std::map<std::string, Jitted> jitted_;  // keyed by the kernel's origin
  bool confined_;
  Cell cell_;
  std::shared_ptr<DeviceTurns> turns_;
};

// The problem for the reference: outputs in its own type and, for attention, with bounds.
Problem reference_problem(const Operator& op, const Problem& problem);

}  // namespace dent
