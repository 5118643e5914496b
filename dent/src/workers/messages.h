// SPDX-License-Identifier: MIT
// Messages between parent and worker. dent/docs/dent.md lists them; workers/protocol.h describes the
// transport. Candidates, baselines and references use the same requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operators/problem.h"
#include "records/build.h"
#include "records/device_kind.h"
#include "records/failure.h"
#include "records/fields.h"
#include "records/timed_by.h"

namespace dent::protocol {

inline constexpr int kVersion = 3;

enum class Verb { load, jit, problem, setup, prepare, go, keep, launches };
inline constexpr Word<Verb> kVerbWords[] = {
    {Verb::load, "load"},       {Verb::jit, "jit"}, {Verb::problem, "problem"}, {Verb::setup, "setup"},
    {Verb::prepare, "prepare"}, {Verb::go, "go"},   {Verb::keep, "keep"},       {Verb::launches, "launches"}};
constexpr std::span<const Word<Verb>> words(Verb) { return kVerbWords; }

enum class WorkerKind { native, python, reference };
inline constexpr Word<WorkerKind> kWorkerKindWords[] = {
    {WorkerKind::native, "native"}, {WorkerKind::python, "python"}, {WorkerKind::reference, "reference"}};
constexpr std::span<const Word<WorkerKind>> words(WorkerKind) { return kWorkerKindWords; }

// The first request: what to load. A native worker gets library and entry (without them it runs an empty
// function), a Python worker a function, the reference of attention nothing.
struct Load {
  std::string library{}, entry{}, setup{}, function{};  // setup may be empty
  DeviceKind device = DeviceKind::cpu;
  bool profile = false;  // a profiler is attached: mark the kernel's launches, and end gracefully
  int protocol = kVersion;
  std::size_t pool_bytes = 0, result_bytes = 0;
};
struct Loaded {
  WorkerKind kind = WorkerKind::native;
  DeviceKind device = DeviceKind::cpu;
  std::map<std::string, std::string> versions;  // of Python, NumPy, PyTorch
  std::vector<std::string> code{};              // files mapped as executable
  // Python only: compilers that run when the function is called, with versions, and the modules' files.
  std::map<std::string, std::string> compilers{};
  std::vector<std::string> sources{};
  bool sets_up = false;  // has a function for the constant inputs, which is not timed
};
struct SetUp {
  double ns = 0;  // time for the current constant inputs
};
struct Jit {
  std::vector<TunedKernel> tuned;  // request: choices to use from now on; reply: choices made so far
};

// A tensor as the worker sees it: where its values come from, or where they go.
struct TensorPlace {
  Tensor tensor;
  DType stored = DType::fp32;  // inputs: type in the pool, which is converted to the tensor's
  std::size_t at = 0;          // first byte in the pool or in the results
  std::size_t room = 0;        // inputs: bytes of the pool after it that are put in place too; see aim()
  std::size_t part = 0;  // inputs: number of pool elements that windows are cut from, if they stay until the
                         // next problem and are not too large; otherwise 0
};

struct ProblemMessage {
  std::vector<TensorPlace> inputs;
  std::vector<TensorPlace> outputs;
  Numbers numbers;
  std::size_t calls = 1;  // number of sets of tensors needed at once
  bool flush = true;      // caches before each timed batch
};

using Offsets = std::vector<std::size_t>;  // of one call: for each input, its first element in the pool
struct Prepare {
  std::vector<Offsets> offsets;  // one per call
};
struct Go {
  std::uint64_t lot = 0;  // random number of the batch; see aim()
  bool in_graph = false;  // GPU only: time in a graph
};
struct Keep {
  std::size_t call = 0;
};

struct Timed {
  double ns = 0;        // sum over the calls of the batch, each timed separately
  double slowest = 0;   // slowest call
  double drain_ns = 0;  // time that the device worked after the last call's timer had stopped
  TimedBy clock = TimedBy::host;
  double floor_ns = 0;                // time that this clock reads for an empty kernel; 0: not measured
  double host_ns = 0;                 // host time of all calls, if they were not captured; 0: not measured
  std::string not_captured{};         // why the calls are not in a graph, although requested
  std::optional<double> waited_ns{};  // total time in which threads of the worker were ready but had no
                                      // processor; nothing: unknown
};

struct Kept {
  bool late = false;                    // the output changed after the call had returned
  std::vector<std::string> inputs;      // inputs that the kernel has written to
  std::vector<std::string> overruns;    // outputs beyond whose ends it has written
  std::vector<std::string> mismatches;  // outputs of another shape, type or stride than requested
};

// The launches of the first prepared call on a GPU, found without running it, and the GPU's properties.
struct GpuLaunch {
  std::string kernel;
  double ctas = 0, cta_threads = 0, registers = 0, smem_bytes = 0, local_bytes = 0, ctas_per_sm = 0;
};
struct Launches {
  int sms = 0, arch = 0, warps_per_sm = 64;
  std::vector<GpuLaunch> launches;
};

// The reply to a request that failed.
struct Refusal {
  std::string error;
  FailureKind code = FailureKind::refused;
  bool internal = false;  // the worker program itself is at fault, not the kernel
};

void fields(Fields& f, Load& load);
void fields(Fields& f, Loaded& loaded);
void fields(Fields& f, SetUp& done);
void fields(Fields& f, Jit& jit);
void fields(Fields& f, TensorPlace& place);
void fields(Fields& f, ProblemMessage& problem);
void fields(Fields& f, Prepare& prepare);
void fields(Fields& f, Go& go);
void fields(Fields& f, Keep& keep);
void fields(Fields& f, Timed& timed);
void fields(Fields& f, Kept& kept);
void fields(Fields& f, GpuLaunch& launch);
void fields(Fields& f, Launches& launches);
void fields(Fields& f, Refusal& refusal);

}  // namespace dent::protocol
