// SPDX-License-Identifier: MIT
// dent devices: what this machine has to run kernels on, and the GPUs that can be asked about without one.
#include <fmt/format.h>

#include <cstdio>

#include "build/toolchain.h"
#include "cli/commands.h"
#include "predict/gpus.h"
#include "predict/measure.h"
#include "session/environment.h"

namespace dent::cli {
namespace {

struct DevicesArguments {
  Common common;
  std::string gpu;
  bool measure = false;
};

JsonObject record_of(const flashmoe::device::Spec& spec) {
  JsonObject figures;
  for (const auto& entry : flashmoe::device::entries(spec)) {
    figures.add(entry.name, JsonObject{{"value", entry.value},
                                       {"unit", entry.unit},
                                       {"origin", flashmoe::device::name_of(entry.origin)},
                                       {"source", entry.source}});
  }
  return {{"name", spec.name}, {"figures", figures}};
}

std::string table_of(const std::vector<flashmoe::device::Spec>& specs) {
  std::string text = fmt::format("{:<10} {:>4} {:>4} {:>5} {:>8} {:>8} {:>7} {:>7} {:>7} {:>7} {:>7}  {}\n",
                                 "GPU", "sm", "SMs", "MHz", "KB/block", "blocks", "L2 MB", "GB/s", "16-bit",
                                 "fp32", "exp/ns", "reaches: GB/s, 16-bit, exp/ns, launch");
  for (const auto& s : specs) {
    text += fmt::format(
        "{:<10} {:>4} {:>4} {:>5.0f} {:>8} {:>8} {:>7} {:>7.0f} {:>7.0f} {:>7.1f} {:>7.0f}  "
        "{:.0f}, {:.0f}, {:.0f}, {:.2f} us, {}\n",
        s.name, s.arch, s.sms, s.boost_mhz, s.smem_per_block / 1024, s.blocks_per_sm, s.l2_bytes >> 20,
        s.bandwidth_gbs, s.tflops_16bit, s.tflops_fp32, s.gexps(), s.reached.bandwidth_gbs.value,
        s.reached.tflops_16bit.value, s.reached.gexps.value, s.reached.launch_us.value,
        flashmoe::device::name_of(s.reached.bandwidth_gbs.origin));
  }
  return text +
         "Peaks are dense TFLOP/s from data sheets. One GPU with all its sources: dent devices --gpu l4\n";
}

std::string figures_of(const flashmoe::device::Spec& spec) {
  std::string text = std::string(spec.name) + "\n";
  for (const auto& entry : flashmoe::device::entries(spec)) {
    text += fmt::format("  {:<24}{:>14.6g} {:<8} {:<11} {}\n", entry.name, entry.value, entry.unit,
                        flashmoe::device::name_of(entry.origin), entry.source);
  }
  return text;
}

ExitCode devices(const DevicesArguments& arguments) {
  if (!arguments.gpu.empty()) {
    const auto spec = gpu_called(arguments.gpu);
    if (arguments.common.json) {
      print_json("devices", {{"known", JsonList().add(record_of(spec))}});
    } else {
      std::fputs(figures_of(spec).c_str(), stdout);
    }
    return ExitCode::ok;
  }
  const record::Environment found = environment_snapshot(".");
  const std::string nvcc = nvcc_compiler();
  const std::string cuda = nvcc.empty() ? "" : version_of(nvcc);
  const auto known = all_gpus();
  if (arguments.common.json) {
    JsonList table;
    for (const auto& spec : known) table.add(record_of(spec));
    print_json("devices", {{"cpu", found.cpu},
                           {"gpus", found.gpus},
                           {"machine", found.machine},
                           {"compiler", version_of(cxx_compiler())},
                           {"cuda_compiler", cuda},
                           {"known", table}});
    return ExitCode::ok;
  }
  std::string text =
      fmt::format("cpu   {} ({}), {} cores, {:.1f} GiB\n",
                  found.cpu.model.empty() ? "unknown" : found.cpu.model, found.machine, found.cpu.cores,
                  static_cast<double>(found.cpu.memory_bytes) / static_cast<double>(1LL << 30));
  for (const record::Gpu& gpu : found.gpus) {
    text +=
        fmt::format("cuda  {}, {:.0f} MiB, driver {}; {}\n", gpu.name, gpu.memory_mib.value_or(0), gpu.driver,
                    stored_measurement(gpu.name) ? "measured" : "not measured yet: dent devices --measure");
  }
  if (found.gpus.empty()) text += "cuda  no GPU on this machine\n";
  text += fmt::format("g++   {}\nnvcc  {}\n\n", version_of(cxx_compiler()), cuda.empty() ? "not here" : cuda);
  std::fputs((text + table_of(known)).c_str(), stdout);
  return ExitCode::ok;
}

ExitCode measure(const DevicesArguments& arguments) {
  const Measurement measurement = measure_gpu();
  const std::string file = store_measurement(measurement).string();
  const auto spec = spec_from(measurement);
  if (arguments.common.json) {
    print_json("devices",
               {{"measurement", measurement}, {"file", file}, {"known", JsonList().add(record_of(spec))}});
  } else {
    std::fputs((figures_of(spec) + "kept in " + file + "\n").c_str(), stdout);
  }
  return ExitCode::ok;
}

}  // namespace

void add_devices(Command& dent) {
  auto arguments = std::make_shared<DevicesArguments>();
  Command& command = dent.command(
      "devices", "List what this machine has to run kernels on, and the GPUs that dent predict knows");
  add_common(command, arguments->common);
  command.option("--gpu", arguments->gpu, "Every figure of one GPU with its source");
  command.flag("--measure", arguments->measure,
               "Measure bandwidth, matrix and exp rates and launch latency of the GPU here, and keep them");
  command.examples("  dent devices\n  dent devices --gpu l4\n  dent devices --measure");
  command.run([arguments] { return arguments->measure ? measure(*arguments) : devices(*arguments); });
}

}  // namespace dent::cli
