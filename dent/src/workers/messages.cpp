// SPDX-License-Identifier: MIT
#include "workers/messages.h"

namespace dent::protocol {

void fields(Fields& f, Load& load) {
  f("protocol", load.protocol, "version of the protocol that the parent uses");
  f.may("library", load.library, "shared library of a native kernel");
  f.may("entry", load.entry, "function of that library");
  f.may("setup", load.setup, "function of that library for the constant inputs");
  f.may("function", load.function, "module:function of a Python kernel");
  f("device", load.device, "device that the kernel runs on");
  f("profile", load.profile, "whether a profiler is attached");
  f("pool_bytes", load.pool_bytes, "size of the inputs' shared memory");
  f("result_bytes", load.result_bytes, "size of the outputs' shared memory");
}

void fields(Fields& f, Loaded& loaded) {
  f("kind", loaded.kind, "kind of the worker");
  f("device", loaded.device, "device that the kernel runs on");
  f.may("versions", loaded.versions, "versions of the software that runs the kernel");
  f.may("code", loaded.code, "kind of failure; left out for a refusal");
  f.may("compilers", loaded.compilers, "compilers that run when the function is called, and their versions");
  f.may("sources", loaded.sources, "source files of its modules");
  f.may("sets_up", loaded.sets_up, "whether it has a function for the constant inputs");
}

void fields(Fields& f, SetUp& done) { f("ns", done.ns, "time that it took"); }

void fields(Fields& f, Jit& jit) { f.may("tuned", jit.tuned, "choices of an autotuner"); }

void fields(Fields& f, TensorPlace& place) {
  std::string dtype(name(place.tensor.dtype)), stored(name(place.stored));
  f("name", place.tensor.name, "name of the tensor");
  f("dtype", dtype, "type that the kernel sees");
  f("stored", stored, "type in the pool");
  f("sizes", place.tensor.sizes, "sizes of its dimensions");
  f("at", place.at, "byte at which it begins");
  f("room", place.room, "bytes of the pool after it that are put in place too");
  f.may("part", place.part,
        "for an input: elements of the pool that stay until the next problem; 0: they may change");
  f("updates", place.tensor.updates,
    "for an output: the input whose values it holds before a call; -1: none");
  f("constant", place.tensor.constant,
    "for an input: whether it is equal in all calls until all inputs are drawn again");
  f("scratch", place.tensor.scratch,
    "for an output: whether it is memory for the kernel's own use, which is not returned");
  place.tensor.dtype = parse_dtype(dtype);
  place.stored = parse_dtype(stored);
}

void fields(Fields& f, ProblemMessage& problem) {
  f("inputs", problem.inputs, "where the inputs come from");
  f("outputs", problem.outputs, "where the outputs go");
  f("numbers", problem.numbers, "sizes and parameters by name");
  f("calls", problem.calls, "sets of tensors that are needed at once");
  f("flush", problem.flush, "whether caches are flushed before a batch");
}

void fields(Fields& f, Prepare& prepare) {
  f("offsets", prepare.offsets, "for each call and input: the element of the pool at which it begins");
}

// A 64-bit number exceeds what JSON readers hold exactly, so it is written as text.
void fields(Fields& f, Go& go) {
  std::string lot = std::to_string(go.lot);
  f("lot", lot, "random number of the batch");
  go.lot = std::stoull(lot);
  f.may("in_graph", go.in_graph, "whether a GPU's calls run as one graph");
}

void fields(Fields& f, Keep& keep) { f("call", keep.call, "number of the call whose outputs are wanted"); }

void fields(Fields& f, Timed& timed) {
  f("ns", timed.ns, "sum of the times of all calls of the batch");
  f("slowest_ns", timed.slowest, "time of the slowest call");
  f("drain_ns", timed.drain_ns, "time that the device worked after the last call's timer had stopped");
  f.may("clock", timed.clock, "clock that timed the calls");
  f.may("floor_ns", timed.floor_ns, "time that this clock reads for an empty kernel");
  f.may("host_ns", timed.host_ns, "host time of all calls of the batch");
  f.may("not_captured", timed.not_captured, "why the calls are not in a graph");
  f("waited_ns", timed.waited_ns,
    "time in which threads were ready but had no processor; left out: not known");
}

void fields(Fields& f, Kept& kept) {
  f("late", kept.late, "whether the output changed after the call had returned");
  f("inputs", kept.inputs, "inputs that the kernel has written to");
  f("overruns", kept.overruns, "outputs beyond whose ends it has written");
  f("mismatches", kept.mismatches, "outputs of another shape, type or stride");
}

void fields(Fields& f, GpuLaunch& launch) {
  f("kernel", launch.kernel, "symbol of the kernel");
  f("ctas", launch.ctas, "CTAs of the grid");
  f("cta_threads", launch.cta_threads, "threads per CTA");
  f("registers", launch.registers, "registers per thread");
  f("smem_bytes", launch.smem_bytes, "shared memory per CTA");
  f("local_bytes", launch.local_bytes, "local memory per thread");
  f("ctas_per_sm", launch.ctas_per_sm, "CTAs that fit on an SM at once");
}

void fields(Fields& f, Launches& launches) {
  f("sms", launches.sms, "number of SMs of the GPU");
  f("arch", launches.arch, "its compute capability");
  f("warps_per_sm", launches.warps_per_sm, "warps that an SM can hold");
  f("launches", launches.launches, "launches of one call");
}

void fields(Fields& f, Refusal& refusal) {
  f("error", refusal.error, "why the request failed");
  std::optional<FailureKind> code;
  if (refusal.code != FailureKind::refused) code = refusal.code;
  f("code", code, "kind of failure; left out for a refusal");
  refusal.code = code.value_or(FailureKind::refused);
  std::optional<bool> internal;
  if (refusal.internal) internal = true;
  f("internal", internal, "whether the worker program itself is at fault; left out if not");
  refusal.internal = internal.value_or(false);
}

}  // namespace dent::protocol
