// SPDX-License-Identifier: MIT
#include "workers/worker_factory.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "base/sha256.h"
#include "build/surroundings.h"
#include "build/toolchain.h"
#include "system/capture.h"
#include "system/confinement.h"
#include "system/strays.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCalls = 4096;
constexpr std::size_t kMostBytesOfCalls = std::size_t{256} << 20;
constexpr std::size_t kMostBytesOnGpu = std::size_t{1} << 30;  // larger, since kernels on a GPU are faster

std::vector<Problem> problems_of(const Project& project) {
  std::vector<Problem> problems;
  for (const Shape& shape : project.shapes) problems.push_back(make_problem(project.op, shape));
  return problems;
}

std::string identity(const Kernel& kernel) {
  std::string text = fmt::format("{} {} {}\n", kernel.python, kernel.directory.string(), name(kernel.device));
  for (const auto& [name, value] : kernel.defines) text += name + "=" + value + "\n";
  return text;
}

bool sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

}  // namespace

WorkerFactory::WorkerFactory(const Project& project, Resources resources, KernelBuilder& builder,
                             bool confined)
    : project_(project),
      resources_(std::move(resources)),
      builder_(builder),
      python_(find_python(project.directory, project.python)),
      problems_(problems_of(project)),
      inputs_(
          problems_, [this] { return start_input_maker(); }, [this] { return turns_->take_gpu(); },
          project.limits.call_seconds),
      jit_(builder.folder() / "jit"),
      confined_(confined && why_not_confined().empty()),
      cell_(project.sandbox),
      turns_(std::make_shared<DeviceTurns>(project.kernel.device, "dent in " + project.directory.string())) {}

std::vector<std::string> WorkerFactory::walls() const {
  const std::string& unfiltered = why_not_confined();
  return {"cell: " + cell_.in_words(), "limits of a cell: " + cell_.limits_in_words(),
          "filter of system calls: " + (unfiltered.empty() ? "seccomp" : "none: " + unfiltered)};
}

const Interpreter& WorkerFactory::interpreter() {
  if (!interpreter_) interpreter_ = ask_interpreter(python_);
  return *interpreter_;
}

WorkerSetup WorkerFactory::setup(Role role, const fs::path& logs) const {
  WorkerSetup setup;
  setup.role = role;
  setup.directory = project_.directory;
  setup.log = logs / (std::string(name(role)) + ".log");
  setup.memory_bytes = static_cast<std::int64_t>(project_.limits.memory_gib * static_cast<double>(1LL << 30));
  setup.load_seconds = project_.limits.load_seconds;
  setup.confined =
      confined_ && (role == Role::candidate || role == Role::baseline || role == Role::incumbent);
  setup.candidate_confined = confined_;
  setup.turns = turns_.get();
  setup.cell = cell_;
  setup.view = surroundings_of(project_);
  for (const fs::path& file :
       {resources_.native_worker, resources_.oracle, resources_.python_worker.parent_path()})
    setup.view.visible.push_back(file);
  for (const Problem& problem : problems_) {
    const Problem asked = role == Role::reference ? reference_problem(project_.op, problem) : problem;
    setup.result_bytes = std::max(setup.result_bytes, result_bytes(asked));
  }
  return setup;
}

void WorkerFactory::run_in_python(WorkerSetup& how) {
  how.environment.emplace_back("PYTHONDONTWRITEBYTECODE", "1");  // keeps the user's folder unchanged
  std::string python = python_;
  if (how.cell.stands()) {
    python = interpreter().program;
    how.view.visible.insert(how.view.visible.end(), interpreter().needs.begin(), interpreter().needs.end());
  }
  how.argv.insert(how.argv.end(), {python, "-u", resources_.python_worker});
}

void WorkerFactory::give_caches(WorkerSetup& how) {
  how.scratch = jit_.make_scratch();
  how.view.writable.push_back(how.scratch);
  for (auto& variable : JitStore::variables(how.scratch)) how.environment.push_back(std::move(variable));
  how.compile_seconds = project_.limits.build_seconds;
}

const Jitted* WorkerFactory::jitted(const Kernel& kernel) const {
  const auto found = jitted_.find(identity(kernel));
  return found == jitted_.end() ? nullptr : &found->second;
}

void WorkerFactory::settle_jit(const Kernel& kernel, Worker& worker, const fs::path& scratch) {
  if (!worker.compiles()) return;
  std::string origin = identity(kernel);
  for (const auto* versions : {&worker.loaded().versions, &worker.loaded().compilers}) {
    for (const auto& [name, version] : *versions) origin += name + " " + version + "\n";
  }
  for (const std::string& source : worker.loaded().sources)
    origin += source + " " + sha256_of_file(source) + "\n";
  for (const Problem& problem : problems_) {
    for (const auto& [name, value] : problem.numbers) origin += fmt::format("{} {}\n", name, value);
  }
  jitted_[identity(kernel)] = jit_.settle(
      worker, scratch, origin, [&] { call_every_shape(worker); }, project_.limits.call_seconds);
}

// Compiles and tunes everything. The outputs are ignored; later calls with other inputs are judged.
void WorkerFactory::call_every_shape(Worker& worker) {
  const double seconds = project_.limits.call_seconds;
  Random random(std::random_device{}());
  double ignored = 0;
  for (const Problem& problem : problems_) {
    inputs_.renew(problem, random.next());
    worker.set_problem(message_for(problem, pool(), 1, false), seconds);
    worker.prepare({inputs_.draw(problem, 1, random).front().offsets}, seconds);
    worker.go(seconds, ignored);
  }
}

std::unique_ptr<Worker> WorkerFactory::start(const Kernel& kernel, Role role, const fs::path& logs) {
  return start_with(setup(role, logs), kernel, {});
}

std::unique_ptr<Worker> WorkerFactory::start_profiled(const Kernel& kernel,
                                                      const std::vector<std::string>& prefix,
                                                      const fs::path& logs) {
  WorkerSetup how = setup(Role::profiled, logs);
  if (!prefix.empty()) how.cell = Cell(Sandbox::off);  // a profiler needs rights that a sandbox denies
  how.argv = prefix;
  how.load_seconds *= 4;
  return start_with(std::move(how), kernel, prefix);
}

std::unique_ptr<Worker> WorkerFactory::start_with(WorkerSetup how, const Kernel& kernel,
                                                  const std::vector<std::string>& prefix) {
  const Role role = how.role;
  if (!kernel.directory.empty()) how.directory = kernel.directory;
  how.view.add(surroundings_of(project_, kernel));
  if (!kernel.python.empty()) {
    how.environment.insert(how.environment.end(), kernel.defines.begin(), kernel.defines.end());
    give_caches(how);
    run_in_python(how);
    how.load = {.function = kernel.python, .device = kernel.device, .profile = !prefix.empty()};
  } else {
    const Built& built = builder_.built(kernel);
    if (!built.ok) {
      throw KernelFailed({FailureKind::refused,
                          fmt::format("{} \"{}\" does not build: {}", name(role), kernel.name, built.problem),
                          built.log.substr(built.log.size() > 2000 ? built.log.size() - 2000 : 0), role});
    }
    how.argv.push_back(resources_.native_worker);
    how.view.visible.push_back(built.library.parent_path());
    how.hard_memory_limit = kernel.device == DeviceKind::cpu && !sanitized();
    how.load = {.library = built.library.string(),
                .entry = built.entry,
                .setup = built.setup,
                .device = kernel.device,
                .profile = !prefix.empty()};
  }
  // Not earlier, since a baseline's compiler may legitimately leave a server running.
  if (role != Role::baseline) adopt_orphans();
  const fs::path scratch = how.scratch;
  auto worker = std::make_unique<Worker>(std::move(how), pool().memory());
  if (!kernel.python.empty()) settle_jit(kernel, *worker, scratch);
  return worker;
}

// compute-sanitizer detects accesses outside an allocation. PyTorch cuts tensors out of larger allocations
// unless its caching is switched off.
std::unique_ptr<Worker> WorkerFactory::start_sanitized_python(const Kernel& kernel, const fs::path& logs) {
  WorkerSetup how = setup(Role::sanitized, logs);
  how.cell = Cell(Sandbox::off);  // a checker, like a profiler, needs rights that a sandbox denies
  how.load_seconds *= 4;
  // Failed driver calls of PyTorch are no findings, and Python stack frames say nothing about a kernel.
  how.argv = {"compute-sanitizer", "--tool", "memcheck", "--report-api-errors", "no",
              "--show-backtrace",  "device"};
  how.environment = {{"PYTORCH_NO_CUDA_MEMORY_CACHING", "1"}};
  return start_with(std::move(how), kernel, {});
}

std::unique_ptr<Worker> WorkerFactory::start_sanitized(const Kernel& kernel, const fs::path& logs) {
  if (!kernel.python.empty()) return start_sanitized_python(kernel, logs);
  WorkerSetup how = setup(Role::sanitized, logs);
  std::vector<std::string> flags;
  if (kernel.device == DeviceKind::cuda) {
    how.cell = Cell(Sandbox::off);  // a checker, like a profiler, needs rights that a sandbox denies
    how.argv = {"compute-sanitizer", "--tool", "memcheck",
                "--error-exitcode",  "86",     resources_.native_worker};
    how.load_seconds *= 4;
  } else {
    flags = {"-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g", "-fno-omit-frame-pointer"};
    auto runtime = capture({cxx_compiler(), "-print-file-name=libasan.so"}, 5);
    if (!runtime || runtime->find('/') == std::string::npos) {
      throw Error(ErrorCode::environment, "the compiler has no AddressSanitizer",
                  "install libasan (Debian: libgcc-12-dev)");
    }
    while (!runtime->empty() && runtime->back() == '\n') runtime->pop_back();
    how.environment = {{"LD_PRELOAD", *runtime}, {"ASAN_OPTIONS", "detect_leaks=0:abort_on_error=0"}};
    how.argv = {resources_.native_worker};
  }
  const Built built = builder_.build_sanitized(kernel, std::move(flags));
  if (!built.ok)
    throw KernelFailed({FailureKind::refused, "does not build for the sanitizer: " + built.problem, built.log,
                        Role::sanitized});
  how.view.add(surroundings_of(project_, kernel));
  how.view.visible.push_back(built.library.parent_path());
  how.load = {
      .library = built.library.string(), .entry = built.entry, .setup = built.setup, .device = kernel.device};
  return std::make_unique<Worker>(std::move(how), pool().memory());
}

std::unique_ptr<Worker> WorkerFactory::start_empty() {
  WorkerSetup how = setup(Role::reference, {});
  how.log.clear();
  how.argv = {resources_.native_worker};
  return std::make_unique<Worker>(std::move(how), pool().memory());
}

std::unique_ptr<Worker> WorkerFactory::start_reference(const fs::path& logs) {
  WorkerSetup how = setup(Role::reference, logs);
  const Reference& reference = project_.op.reference;
  switch (reference.kind) {
    case Reference::Kind::attention:
      how.argv = {resources_.oracle};
      how.load = {.function = reference.entry};
      break;
    case Reference::Kind::python:
      run_in_python(how);
      how.load = {.function = reference.entry};
      break;
    case Reference::Kind::library: {
      Kernel kernel;
      kernel.name = "reference";
      kernel.entry = reference.entry;
      kernel.library = reference.library;
      if (!reference.source.empty()) kernel.sources = {reference.source};
      const Built& built = builder_.build(kernel);
      if (!built.ok)
        throw Error(ErrorCode::invalid, "the reference does not build: " + built.problem, built.next);
      how.argv = {resources_.native_worker};
      how.view.add(surroundings_of(project_, kernel));
      how.view.visible.push_back(built.library.parent_path());
      how.load = {.library = built.library.string(), .entry = built.entry};
      break;
    }
  }
  return std::make_unique<Worker>(std::move(how), pool().memory());
}

std::unique_ptr<Worker> WorkerFactory::start_input_maker() {
  WorkerSetup how = setup(Role::reference, {});
  how.log.clear();
  for (const Problem& problem : problems_) {
    Problem asked;
    asked.outputs = made_inputs(problem);
    how.result_bytes = std::max(how.result_bytes, result_bytes(asked));
  }
  run_in_python(how);
  how.load = {.function = project_.op.inputs_from};
  return std::make_unique<Worker>(std::move(how), pool().memory());
}

std::size_t WorkerFactory::most_calls(const Problem& problem) const {
  std::size_t bytes = 1;
  for (const Tensor& tensor : problem.inputs) bytes += tensor.bytes();
  for (const Tensor& tensor : problem.outputs) bytes += tensor.bytes();
  const std::size_t most = problem.has_sets() ? InputPool::slots(problem) : kMostCalls;
  const bool on_gpu = project_.kernel.device == DeviceKind::cuda;
  return std::clamp<std::size_t>((on_gpu ? kMostBytesOnGpu : kMostBytesOfCalls) / bytes, 2, most);
}

Problem reference_problem(const Operator& op, const Problem& problem) {
  Problem asked = problem;
  asked.outputs.clear();
  for (const Tensor& output : problem.outputs) {
    if (output.scratch) continue;
    Tensor wide = output;
    wide.dtype = op.reference.dtype;
    asked.outputs.push_back(wide);
    if (op.reference.kind != Reference::Kind::attention) continue;
    wide.name += ".bound";
    asked.outputs.push_back(wide);
  }
  return asked;
}

}  // namespace dent
