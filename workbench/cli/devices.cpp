// SPDX-License-Identifier: MIT
// dent devices: what this machine has to run kernels on.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>

#include "build/toolchain.h"
#include "cli/commands.h"
#include "ledger/environment.h"

namespace dent::cli {
namespace {

ExitCode devices(const Common& common) {
  const nlohmann::json found = environment_snapshot(".");
  const nlohmann::json cpu = found.value("cpu", nlohmann::json::object());
  const nlohmann::json gpus = found.value("gpus", nlohmann::json::array());
  const std::string nvcc = nvcc_compiler();
  const std::string cuda = nvcc.empty() ? "" : version_of(nvcc);
  if (common.json) {
    print_json("devices", {{"cpu", cpu},
                           {"gpus", gpus},
                           {"machine", found.value("machine", "")},
                           {"compiler", version_of(cxx_compiler())},
                           {"cuda_compiler", cuda}});
    return ExitCode::ok;
  }
  std::string text = fmt::format("cpu   {} ({}), {} cores, {:.1f} GiB\n", cpu.value("model", "unknown"),
                                 found.value("machine", ""), cpu.value("cores", 0),
                                 cpu.value("memory_bytes", 0.0) / static_cast<double>(1LL << 30));
  for (const nlohmann::json& gpu : gpus) {
    text += fmt::format("cuda  {}, {} MiB, driver {}\n", gpu.value("name", ""), gpu.value("memory_mib", 0),
                        gpu.value("driver", ""));
  }
  if (gpus.empty()) text += "cuda  no GPU on this machine\n";
  text += fmt::format("g++   {}\nnvcc  {}\n", version_of(cxx_compiler()), cuda.empty() ? "not here" : cuda);
  std::fputs(text.c_str(), stdout);
  return ExitCode::ok;
}

}  // namespace

void add_devices(CLI::App& app, Chosen& chosen) {
  auto common = std::make_shared<Common>();
  CLI::App* command = app.add_subcommand("devices", "List what this machine has to run kernels on");
  add_common(*command, *common);
  set_example(*command, "  dent devices --json");
  command->callback([common, &chosen] { chosen.action = [common] { return devices(*common); }; });
}

}  // namespace dent::cli
