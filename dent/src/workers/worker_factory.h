// SPDX-License-Identifier: MIT
// Starts processes for a project's kernels and for its reference, and has the inputs that they all read.
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
  // `confined`: whether kernels that are compared are kept from other processes, where the system can do
  // that.
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
  void share_turns(const WorkerFactory& other) { turns_ = other.turns_; }  // of the same session
  std::vector<std::string> walls() const;  // for the record: those that stand, and why others don't

  // A process with the kernel loaded; what it prints goes to a file in `logs`. Processes that a judged kernel
  // leaves behind become ours. Throws KernelFailed.
  std::unique_ptr<Worker> start(const Kernel& kernel, Role role, const std::filesystem::path& logs);
  // The same under a memory checker: AddressSanitizer built in, or compute-sanitizer around it. Throws Error
  // (environment) where there is none.
  std::unique_ptr<Worker> start_sanitized(const Kernel& kernel, const std::filesystem::path& logs);
  // The same under a profiler: `prefix` goes in front of the worker program, which tells it what to look at.
  std::unique_ptr<Worker> start_profiled(const Kernel& kernel, const std::vector<std::string>& prefix,
                                         const std::filesystem::path& logs);
  // A native worker on the CPU whose entry does nothing. No code but ours is in it.
  std::unique_ptr<Worker> start_empty();
  // The process that knows what is right.
  std::unique_ptr<Worker> start_reference(const std::filesystem::path& logs);

  // What a Python function compiled when it was called; nullptr before it was started, and where it compiles
  // nothing.
  const Jitted* jitted(const Kernel& kernel) const;

  // How many calls a stretch may hold, for the memory that their tensors take.
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
  std::map<std::string, Jitted> jitted_;  // by where the kernel comes from
  bool confined_;
  Cell cell_;
  std::shared_ptr<DeviceTurns> turns_;
};

// The problem as the reference is asked it: outputs in its own type, and for attention with their bounds.
Problem reference_problem(const Operator& op, const Problem& problem);

}  // namespace dent
