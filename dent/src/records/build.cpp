// SPDX-License-Identifier: MIT
#include "records/build.h"

namespace dent {

void fields(Fields& f, KernelResources& kernel) {
  f("name", kernel.name, "as people write it");
  f.may("arch", kernel.arch, "that it was compiled for");
  f("registers", kernel.registers, "of a thread");
  f("static_smem_bytes", kernel.static_smem_bytes, "shared memory that it declares");
  f("stack_bytes", kernel.stack_bytes, "of a thread");
  f("spill_bytes", kernel.spill_bytes,
    "stores and loads; of Triton: a thread's local memory, which has nothing else in it");
  f.may("dynamic_smem_bytes", kernel.dynamic_smem_bytes,
        "shared memory that it is launched with, where its compiler says so");
}

void fields(Fields& f, TunedKernel& tuned) {
  f("kernel", tuned.kernel, "module and function");
  f("key", tuned.key, "what its arguments are like, as JSON");
  f("config", tuned.config, "as its compiler writes it");
}

}  // namespace dent

namespace dent::record {

void fields(Fields& f, Build& build) {
  f("source_hash", build.source_hash, "SHA-256 over the sources and the compiler's arguments");
  f.may("binary_hash", build.binary_hash,
        "SHA-256 of the library, or over the files that a compiler left in its cache");
  f.may("log", build.log, "artifact: what the compiler printed");
  f.may("seconds", build.seconds, "that it took");
  f("kernels", build.kernels, "what each GPU kernel uses");
  f.may("incumbent_hash", build.incumbent_hash,
        "SHA-256 of the library that a loop compares it with; left out elsewhere");
  f.may("compilers", build.compilers, "that work when the kernel is called, and their versions");
  f.may("tuned", build.tuned, "what an autotuner chose; pinned for the session");
}

void fields(Fields& f, ForeseenOccupancy& occupancy) {
  f("ctas_per_sm", occupancy.ctas_per_sm, "that fit at once");
  f("warps_per_sm", occupancy.warps_per_sm, "of them");
  f("share", occupancy.share, "of the warps that an SM holds");
  f("limiter", occupancy.limiter, "what there is too little of for one more");
}

void fields(Fields& f, ForeseenBlock& block) {
  f("threads", block.threads, "of a CTA");
  f("registers", block.registers, "of a thread; 0: not known");
  f("smem_bytes", block.smem_bytes, "shared memory of a CTA");
  f("cluster", block.cluster, "CTAs of a cluster");
}

void fields(Fields& f, ForeseenWork& work) {
  f("matrix_flops", work.matrix_flops, "on tensor cores");
  f("fp32_flops", work.fp32_flops, "on fp32 units");
  f("exps", work.exps, "on the special function units");
  f("dram_bytes", work.dram_bytes, "to and from memory");
  f("l2_bytes", work.l2_bytes, "to and from the second cache");
  f.may("l1_bytes", work.l1_bytes, "loaded and stored by threads, where it was given");
}

void fields(Fields& f, ForeseenChange& change) {
  f("change", change.change, "what is changed");
  f("ctas", change.ctas, "CTAs then");
  f("expected_us", change.expected_us, "time then");
}

void fields(Fields& f, Prediction& prediction) {
  f.may("shape", prediction.shape, "name of the shape");
  f("device", prediction.device, "the GPU");
  f("title", prediction.title, "what is launched");
  f("kernel", prediction.kernel, "its name");
  f("detail", prediction.detail, "tiles, splits, registers, shared memory");
  f("reason", prediction.reason, "why that kernel");
  f("headline", prediction.headline, "what share of the chip works");
  f("fits", prediction.fits, "whether a CTA fits on an SM at all");
  f("ctas", prediction.ctas, "of the launch");
  f("sms", prediction.sms, "of the GPU");
  f("busy_sms", prediction.busy_sms, "of them, with work");
  f("chip_share", prediction.chip_share, "the same as a share");
  f("waves", prediction.waves, "CTAs over those that run at once");
  f("tail", prediction.tail, "empty share of the last wave");
  f("occupancy", prediction.occupancy, "of an SM");
  f("block", prediction.block, "what a CTA asks for");
  f("work", prediction.work, "of the whole launch");
  f("floor_us", prediction.floor_us, "least time by unit, on the whole chip");
  f("busy_floor_us", prediction.busy_floor_us, "least time by unit, on the SMs that work");
  f("least_us", prediction.least_us, "the largest of these");
  f("dominating", prediction.dominating, "the unit that most of the time goes to");
  f("expected_us", prediction.expected_us, "time");
  f("low_us", prediction.low_us, "it will hardly be less");
  f("high_us", prediction.high_us, "it will hardly be more");
  f("calibrated", prediction.calibrated, "whether constants were measured for this kernel on this GPU");
  f("changes", prediction.changes, "what would help, the best first");
  f("notes", prediction.notes, "for people");
}

}  // namespace dent::record
