// SPDX-License-Identifier: MIT
#include "records/build.h"

namespace dent {

void fields(Fields& f, KernelResources& kernel) {
  f("name", kernel.name, "name as in the source");
  f.may("arch", kernel.arch, "architecture that it was compiled for");
  f("registers", kernel.registers, "registers per thread");
  f("static_smem_bytes", kernel.static_smem_bytes, "statically declared shared memory");
  f("stack_bytes", kernel.stack_bytes, "stack per thread");
  f("spill_bytes", kernel.spill_bytes,
    "bytes of spill stores and loads; for Triton, a thread's local memory, which holds spills only");
  f.may("dynamic_smem_bytes", kernel.dynamic_smem_bytes,
        "dynamic shared memory per launch, if the compiler reports it");
}

void fields(Fields& f, TunedKernel& tuned) {
  f("kernel", tuned.kernel, "module and function");
  f("key", tuned.key, "description of the arguments that it was chosen for, as JSON");
  f("config", tuned.config, "chosen configuration, as its compiler prints it");
}

}  // namespace dent

namespace dent::record {

void fields(Fields& f, Build& build) {
  f("source_hash", build.source_hash, "SHA-256 over the sources and the compiler's arguments");
  f.may("binary_hash", build.binary_hash,
        "SHA-256 of the library, or over the files that a compiler left in its cache");
  f.may("log", build.log, "artifact: the compiler's output");
  f.may("seconds", build.seconds, "compile time");
  f("kernels", build.kernels, "resources of each GPU kernel");
  f.may("incumbent_hash", build.incumbent_hash, "in a loop: SHA-256 of the library that it is compared with");
  f.may("compilers", build.compilers, "compilers that run when the kernel is called, and their versions");
  f.may("tuned", build.tuned, "an autotuner's choices, fixed for the session");
}

void fields(Fields& f, ForeseenOccupancy& occupancy) {
  f("ctas_per_sm", occupancy.ctas_per_sm, "CTAs that fit on an SM at once");
  f("warps_per_sm", occupancy.warps_per_sm, "warps of those CTAs");
  f("share", occupancy.share, "their share of the warps that an SM can hold");
  f("limiter", occupancy.limiter, "resource that limits the number of CTAs");
}

void fields(Fields& f, ForeseenBlock& block) {
  f("threads", block.threads, "threads per CTA");
  f("registers", block.registers, "registers per thread; 0: not known");
  f("smem_bytes", block.smem_bytes, "shared memory per CTA");
  f("cluster", block.cluster, "CTAs per cluster");
}

void fields(Fields& f, ForeseenWork& work) {
  f("matrix_flops", work.matrix_flops, "operations on tensor cores");
  f("fp32_flops", work.fp32_flops, "operations on fp32 units");
  f("exps", work.exps, "exponentials on the special function units");
  f("dram_bytes", work.dram_bytes, "traffic to and from DRAM");
  f("l2_bytes", work.l2_bytes, "traffic to and from the L2 cache");
  f.may("l1_bytes", work.l1_bytes, "bytes that threads load and store, if given");
}

void fields(Fields& f, ForeseenChange& change) {
  f("change", change.change, "the change");
  f("ctas", change.ctas, "number of CTAs after it");
  f("expected_us", change.expected_us, "expected time after it");
}

void fields(Fields& f, Prediction& prediction) {
  f.may("shape", prediction.shape, "name of the shape");
  f("device", prediction.device, "name of the GPU");
  f("title", prediction.title, "the launch, in words");
  f("kernel", prediction.kernel, "name of the kernel");
  f("detail", prediction.detail, "tiles, splits, registers, shared memory");
  f("reason", prediction.reason, "why this kernel was chosen");
  f("headline", prediction.headline, "what share of the chip has work");
  f("fits", prediction.fits, "whether a CTA fits on an SM at all");
  f("ctas", prediction.ctas, "number of CTAs in the launch");
  f("sms", prediction.sms, "number of SMs of the GPU");
  f("busy_sms", prediction.busy_sms, "number of SMs that get work");
  f("chip_share", prediction.chip_share, "share of the SMs that get work");
  f("waves", prediction.waves, "CTAs divided by those that run at once");
  f("tail", prediction.tail, "idle share of the last wave");
  f("occupancy", prediction.occupancy, "occupancy of an SM");
  f("block", prediction.block, "resources of a CTA");
  f("work", prediction.work, "work of the whole launch");
  f("floor_us", prediction.floor_us, "least time per unit if the whole chip works");
  f("busy_floor_us", prediction.busy_floor_us, "least time per unit on the SMs that get work");
  f("least_us", prediction.least_us, "the largest of these times");
  f("dominating", prediction.dominating, "unit that takes the largest part of the time");
  f("expected_us", prediction.expected_us, "expected time");
  f("low_us", prediction.low_us, "lower end of the expected range");
  f("high_us", prediction.high_us, "upper end of the expected range");
  f("calibrated", prediction.calibrated, "whether constants were measured for this kernel on this GPU");
  f("changes", prediction.changes, "changes that would help, the best first");
  f("notes", prediction.notes, "notes, for people");
}

}  // namespace dent::record
