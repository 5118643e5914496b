// SPDX-License-Identifier: MIT
// What parent and worker say to each other. dent/docs/dent.md lists every message; workers/protocol.h has the
// way it goes. The same verbs serve a candidate, a baseline and a reference.
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

// The first request: what to load. A native worker is given library and entry (without them it has an entry
// of its own that does nothing), one in Python a function, the reference of attention nothing.
struct Load {
  std::string library{}, entry{}, setup{}, function{};  // setup: may be empty
  DeviceKind device = DeviceKind::cpu;
  bool profile = false;  // a profiler watches: leave gently, and tell it which launches are the kernel's
  int protocol = kVersion;
  std::size_t pool_bytes = 0, result_bytes = 0;
};
struct Loaded {
  WorkerKind kind = WorkerKind::native;
  DeviceKind device = DeviceKind::cpu;
  std::map<std::string, std::string> versions;  // of what it runs on: Python, NumPy, PyTorch
  std::vector<std::string> code{};              // files that it has mapped to execute them
  // In Python: compilers that work when the function is called, with versions, and the files of its modules.
  std::map<std::string, std::string> compilers{};
  std::vector<std::string> sources{};
  bool sets_up = false;  // has a function for the constant inputs, which is called outside the clock
};
struct SetUp {
  double ns = 0;  // that it took for the constant inputs at hand
};
struct Jit {
  std::vector<TunedKernel> tuned;  // request: to be taken from now on; answer: what was chosen so far
};

// A tensor as the worker sees it: where its values come from or go to.
struct TensorPlace {
  Tensor tensor;
  DType stored = DType::fp32;  // inputs: the type in the pool, converted to the tensor's on the way in
  std::size_t at = 0;          // byte in the pool or in the results where it begins
  std::size_t room = 0;        // inputs: bytes of the pool that are put in place beyond it; see aim()
  std::size_t part = 0;  // inputs: elements of the pool that windows are cut from, the same until the next
                         // problem; 0: they may change, or are large
};

struct ProblemMessage {
  std::vector<TensorPlace> inputs;
  std::vector<TensorPlace> outputs;
  Numbers numbers;
  std::size_t calls = 1;  // so many sets of tensors are wanted at once
  bool flush = true;      // caches before each timed stretch
};

using Offsets = std::vector<std::size_t>;  // of one call: for each input, the element in its pool to start at
struct Prepare {
  std::vector<Offsets> offsets;  // one for each call
};
struct Go {
  std::uint64_t lot = 0;  // see aim()
  bool in_graph = false;  // on a GPU: by its second clock
};
struct Keep {
  std::size_t call = 0;
};

struct Timed {
  double ns = 0;        // all calls of the stretch, each timed alone, added up
  double slowest = 0;   // the longest of them
  double drain_ns = 0;  // how much longer the device worked after the last call's timer had stopped
  TimedBy clock = TimedBy::host;
  double floor_ns = 0;         // what an empty kernel reads by this clock; 0: not measured
  double host_ns = 0;          // that all calls took the host, where they were not captured; 0: not measured
  std::string not_captured{};  // why the calls are not in a graph although they should be
  std::optional<double> waited_ns{};  // that threads of the worker were ready to run and had no processor,
                                      // added up; nothing: not known
};

struct Kept {
  bool late = false;                    // the output changed after the call had returned
  std::vector<std::string> inputs;      // that the kernel has written to
  std::vector<std::string> overruns;    // outputs beyond whose ends it has written
  std::vector<std::string> mismatches;  // outputs of another shape, type or stride than asked for
};

// What the first prepared call launches on a GPU, without running it, and on what.
struct GpuLaunch {
  std::string kernel;
  double ctas = 0, cta_threads = 0, registers = 0, smem_bytes = 0, local_bytes = 0, ctas_per_sm = 0;
};
struct Launches {
  int sms = 0, arch = 0, warps_per_sm = 64;
  std::vector<GpuLaunch> launches;
};

// In the place of an answer.
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
