// SPDX-License-Identifier: MIT
// dent predict: what a launch will do on a GPU, with no GPU at hand.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "build/object_resources.h"
#include "cli/commands.h"
#include "predict/gpus.h"
#include "predict/show.h"

namespace dent::cli {
namespace {

struct PredictArguments {
  Common common;
  std::string what;
  std::vector<std::string> devices{"here"};
  std::vector<std::string> shapes;
  AttentionRequest attention;
  std::string kernel, object, grid, block, plot;
  std::string dtype = "fp16";
  int registers = 0, smem = 0, cluster = 1;
  double flops = 0, bytes = 0, l2_bytes = 0, l1_bytes = 0, exps = 0, trips = 0;
};

std::vector<flashmoe::device::Spec> gpus_of(const PredictArguments& arguments) {
  std::vector<flashmoe::device::Spec> gpus;
  for (const std::string& name : arguments.devices) {
    if (name == "all") {
      for (auto& gpu : all_gpus()) gpus.push_back(std::move(gpu));
    } else {
      gpus.push_back(gpu_called(name));
    }
  }
  return gpus;
}

std::vector<Forecast> attention(const PredictArguments& arguments) {
  std::vector<Sizes> shapes;
  for (const std::string& text : arguments.shapes) {
    for (const Sizes& sizes : read_sizes(text)) shapes.push_back(sizes);
  }
  if (shapes.empty()) {
    throw Error(ErrorCode::invalid, "predict attention needs a shape",
                "for example --shape 1,8,2048,64: B,H,S,D");
  }
  std::vector<Forecast> forecasts;
  for (const auto& gpu : gpus_of(arguments)) {
    for (const Sizes& sizes : shapes) {
      AttentionRequest request = arguments.attention;
      request.sizes = sizes;
      request.dtype = arguments.dtype;
      request.kernel = arguments.kernel;
      forecasts.push_back(predict_attention(request, gpu));
    }
  }
  return forecasts;
}

void add_flops(flashmoe::device::Work& work, double flops, const std::string& dtype) {
  using flashmoe::device::MatrixType;
  if (dtype == "fp32") {
    work.fp32_flops = flops;
    return;
  }
  work.matrix_flops = flops;
  if (dtype == "fp16" || dtype == "bf16") {
    work.matrix_type = MatrixType::bits16;
  } else if (dtype == "fp8" || dtype == "int8") {
    work.matrix_type = MatrixType::bits8;
  } else if (dtype == "tf32") {
    work.matrix_type = MatrixType::tf32;
  } else {
    throw Error(ErrorCode::invalid,
                "--dtype is \"" + dtype + "\"; accepted are fp16, bf16, fp8, int8, tf32, fp32");
  }
}

constexpr double kWarmShare = 0.5;  // of the L2 cache, that a kernel finds its data in

std::vector<Forecast> foreign(const PredictArguments& arguments) {
  if (arguments.grid.empty() || arguments.block.empty()) {
    throw Error(ErrorCode::invalid, "predict kernel needs a launch: --grid and --block",
                "for example --grid 2,8 --block 256 --regs 64 --flops 4e9 --bytes 1e6");
  }
  KernelRequest request;
  request.launch.ctas = read_grid(arguments.grid, "--grid");
  request.launch.cluster = arguments.cluster;
  request.launch.trips = arguments.trips;
  request.work.exps = arguments.exps;
  request.work.dram_bytes = arguments.bytes;
  request.work.l2_bytes = std::max(arguments.bytes, arguments.l2_bytes);
  request.work.l1_bytes = arguments.l1_bytes;
  add_flops(request.work, arguments.flops, arguments.dtype);
  const auto threads =
      static_cast<int>(std::min<std::int64_t>(read_grid(arguments.block, "--block"), 1 << 20));
  std::vector<KernelResources> compiled;
  if (!arguments.object.empty()) compiled = object_resources(arguments.object);
  std::vector<Forecast> forecasts;
  for (const auto& gpu : gpus_of(arguments)) {
    request.launch.block = {
        .threads = threads, .registers = arguments.registers, .smem_bytes = arguments.smem};
    if (!compiled.empty()) {
      const KernelResources kernel = choose_kernel(compiled, arguments.kernel, gpu.arch);
      request.name = kernel.name.substr(0, kernel.name.find('('));
      request.launch.block.registers = kernel.registers;
      request.launch.block.smem_bytes += kernel.static_smem_bytes;
    }
    if (const std::string why = flashmoe::device::refusal(gpu, request.launch.block); !why.empty()) {
      throw Error(ErrorCode::invalid,
                  fmt::format("the launch fails on the {}: it asks for {}", gpu.name, why),
                  "give --block, --regs and --smem as the launch will have them");
    }
    if (arguments.attention.warm && arguments.bytes <= kWarmShare * static_cast<double>(gpu.l2_bytes))
      request.work.dram_bytes = 0;
    forecasts.push_back(predict_kernel(request, gpu));
    request.work.dram_bytes = arguments.bytes;
  }
  return forecasts;
}

ExitCode predict(const PredictArguments& arguments) {
  const bool is_kernel = arguments.what.empty() ? !arguments.grid.empty() : arguments.what == "kernel";
  const std::vector<Forecast> forecasts = is_kernel ? foreign(arguments) : attention(arguments);
  if (!arguments.plot.empty()) {
    std::ofstream file(arguments.plot);
    if (!(file << forecast_plot(forecasts))) {
      throw Error(ErrorCode::environment, arguments.plot + " can't be written", "check the folder of --plot");
    }
  }
  if (arguments.common.json) {
    JsonList list;
    for (const Forecast& forecast : forecasts) list.add(to_record(forecast));
    print_json("predict", {{"predictions", list}});
  } else {
    std::fputs((forecasts.size() == 1 ? forecast_text(forecasts[0]) : forecast_table(forecasts)).c_str(),
               stdout);
  }
  return ExitCode::ok;
}

}  // namespace

void add_predict(Command& dent) {
  auto a = std::make_shared<PredictArguments>();
  Command& command =
      dent.command("predict", "Say what a launch will do on a GPU: how much of it works, and how long");
  add_common(command, a->common);
  command.option("what", a->what, "attention: our own kernels, by shape; kernel: any, by launch and work")
      .one_of({"attention", "kernel"});
  command.option("--device", a->devices, "A GPU of dent devices, here, or all; several by commas")
      .split_at(',');
  command.option("--dtype", a->dtype, "fp16, bf16, fp32; for a kernel also fp8, int8, tf32").show_default();
  command.option("--kernel", a->kernel,
                 "attention: insist on one of ours; kernel: a part of its name in --object");
  command.option("--plot", a->plot, "Write expected times as an SVG picture");
  command.option("--shape", a->shapes, "attention: B,H,S,D; ranges double: 1,8,128..4096,64; may be repeated")
      .group("attention");
  command.option("--skv", a->attention.kv_rows, "Rows of K and V (default: S)").group("attention");
  command.option("--hkv", a->attention.kv_heads, "Heads of K and V (default: H)").group("attention");
  command.flag("--causal", a->attention.causal, "Causal mask").group("attention");
  command.flag("--backward", a->attention.backward, "The gradients instead of the forward")
      .group("attention");
  command.flag("--deterministic", a->attention.deterministic, "Gradients that are the same bit for bit")
      .group("attention");
  command.option("--splits", a->attention.splits, "Insist on so many CTAs for the keys of a tile")
      .group("attention");
  command.flag("--warm", a->attention.warm, "Inputs are in the L2 cache already, as far as they fit");
  command
      .option("--object", a->object, "A compiled .cubin, .o or .so to read registers and shared memory from")
      .group("kernel");
  command.option("--regs", a->registers, "Registers per thread").group("kernel");
  command.option("--smem", a->smem, "Bytes of shared memory per CTA; with --object, dynamic ones")
      .group("kernel");
  command.option("--grid", a->grid, "CTAs: x, x,y or x,y,z").group("kernel");
  command.option("--block,--threads", a->block, "Threads of a CTA: x, x,y or x,y,z").group("kernel");
  command.option("--cluster", a->cluster, "CTAs of a cluster").group("kernel").between(1, 16);
  command.option("--flops", a->flops, "Operations of the whole launch, in --dtype").group("kernel");
  command.option("--bytes", a->bytes, "Bytes from and to memory: each input once, each output once")
      .group("kernel");
  command.option("--l2-bytes", a->l2_bytes, "Bytes between SMs and L2, repeated reads too (default: --bytes)")
      .group("kernel");
  command
      .option("--l1-bytes", a->l1_bytes,
              "Bytes that threads load and store, in shared memory too (default: --l2-bytes)")
      .group("kernel");
  command
      .option("--trips", a->trips,
              "Times that a thread waits for memory, one after the other (default: by its bytes)")
      .group("kernel");
  command.option("--exps", a->exps, "Exponentials and other special functions").group("kernel");
  command.examples(
      "  dent predict attention --device l4 --shape 1,1,128,64\n"
      "  dent predict attention --device l4 --shape 1,1,128,64 --kernel naive\n"
      "  dent predict attention --device all --shape 1,8,128..16384,128 --causal --plot times.svg\n"
      "  dent predict attention --device h200 --shape 1,16,8192,128 --causal --backward\n"
      "  dent predict kernel --device a10 --object kernel.cubin --grid 128,8 --block 256 --flops 4e9 "
      "--bytes 2e6");
  command.run([a] { return predict(*a); });
}

}  // namespace dent::cli
