// SPDX-License-Identifier: MIT
#include "workers/messages.h"

namespace dent::protocol {

void fields(Fields& f, Load& load) {
  f("protocol", load.protocol, "version that the parent speaks");
  f.may("library", load.library, "shared library of a native kernel");
  f.may("entry", load.entry, "its function");
  f.may("setup", load.setup, "its function for the constant inputs");
  f.may("function", load.function, "module:function of a kernel in Python");
  f("device", load.device, "where the kernel runs");
  f("profile", load.profile, "whether a profiler watches");
  f("pool_bytes", load.pool_bytes, "of the inputs' shared memory");
  f("result_bytes", load.result_bytes, "of the outputs' shared memory");
}

void fields(Fields& f, Loaded& loaded) {
  f("kind", loaded.kind, "what kind of worker it is");
  f("device", loaded.device, "where the kernel runs");
  f.may("versions", loaded.versions, "of what it runs on");
  f.may("code", loaded.code, "files that it has mapped to execute them");
  f.may("compilers", loaded.compilers, "that work when the function is called, and their versions");
  f.may("sources", loaded.sources, "files of its modules");
  f.may("sets_up", loaded.sets_up, "whether it wants to see the constant inputs before the others");
}

void fields(Fields& f, SetUp& done) { f("ns", done.ns, "that it took"); }

void fields(Fields& f, Jit& jit) { f.may("tuned", jit.tuned, "what an autotuner chose"); }

void fields(Fields& f, TensorPlace& place) {
  std::string dtype(name(place.tensor.dtype)), stored(name(place.stored));
  f("name", place.tensor.name, "its name");
  f("dtype", dtype, "type that the kernel sees");
  f("stored", stored, "type in the pool");
  f("sizes", place.tensor.sizes, "of its dimensions");
  f("at", place.at, "byte where it begins");
  f("room", place.room, "bytes of the pool beyond it");
  f.may("part", place.part,
        "of an input: elements of the pool that stay until the next problem; 0: they may change");
  f("updates", place.tensor.updates, "of an output: the input whose values it holds before a call; -1: none");
  f("constant", place.tensor.constant, "of an input: the same in every call until all are drawn anew");
  f("scratch", place.tensor.scratch, "of an output: memory for the kernel's own use, which is not asked for");
  place.tensor.dtype = parse_dtype(dtype);
  place.stored = parse_dtype(stored);
}

void fields(Fields& f, ProblemMessage& problem) {
  f("inputs", problem.inputs, "where they come from");
  f("outputs", problem.outputs, "where they go");
  f("numbers", problem.numbers, "sizes and parameters by name");
  f("calls", problem.calls, "sets of tensors that are wanted at once");
  f("flush", problem.flush, "whether caches are flushed before a stretch");
}

void fields(Fields& f, Prepare& prepare) {
  f("offsets", prepare.offsets, "for each call, for each input: the element of the pool to start at");
}

// A number of 64 bits does not fit into every reader's numbers: as a text.
void fields(Fields& f, Go& go) {
  std::string lot = std::to_string(go.lot);
  f("lot", lot, "drawn for the stretch");
  go.lot = std::stoull(lot);
  f.may("in_graph", go.in_graph, "whether a GPU's calls run behind one another in a graph");
}

void fields(Fields& f, Keep& keep) { f("call", keep.call, "whose outputs are wanted"); }

void fields(Fields& f, Timed& timed) {
  f("ns", timed.ns, "all calls of the stretch, added up");
  f("slowest_ns", timed.slowest, "the longest of them");
  f("drain_ns", timed.drain_ns, "how much longer the device worked");
  f.may("clock", timed.clock, "what they were timed by");
  f.may("floor_ns", timed.floor_ns, "what an empty kernel reads by that clock");
  f.may("host_ns", timed.host_ns, "all calls of the stretch, as the host saw them");
  f.may("not_captured", timed.not_captured, "why they are not in a graph");
  f("waited_ns", timed.waited_ns, "that threads were ready to run and had no processor; left out: not known");
}

void fields(Fields& f, Kept& kept) {
  f("late", kept.late, "the output changed after the call had returned");
  f("inputs", kept.inputs, "that the kernel has written to");
  f("overruns", kept.overruns, "outputs beyond whose ends it has written");
  f("mismatches", kept.mismatches, "outputs of another shape, type or stride");
}

void fields(Fields& f, GpuLaunch& launch) {
  f("kernel", launch.kernel, "its symbol");
  f("ctas", launch.ctas, "of the grid");
  f("cta_threads", launch.cta_threads, "of a CTA");
  f("registers", launch.registers, "of a thread");
  f("smem_bytes", launch.smem_bytes, "of a CTA");
  f("local_bytes", launch.local_bytes, "of a thread");
  f("ctas_per_sm", launch.ctas_per_sm, "that fit at once");
}

void fields(Fields& f, Launches& launches) {
  f("sms", launches.sms, "of the GPU");
  f("arch", launches.arch, "its compute capability");
  f("warps_per_sm", launches.warps_per_sm, "that an SM holds");
  f("launches", launches.launches, "of one call");
}

void fields(Fields& f, Refusal& refusal) {
  f("error", refusal.error, "why there is no answer");
  std::optional<FailureKind> code;
  if (refusal.code != FailureKind::refused) code = refusal.code;
  f("code", code, "which failure; left out for a refusal");
  refusal.code = code.value_or(FailureKind::refused);
  std::optional<bool> internal;
  if (refusal.internal) internal = true;
  f("internal", internal, "the worker program itself is at fault; left out otherwise");
  refusal.internal = internal.value_or(false);
}

}  // namespace dent::protocol
