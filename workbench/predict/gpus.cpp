// SPDX-License-Identifier: MIT
#include "predict/gpus.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "flashmoe/error.h"
#include "records/json.h"
#include "system/capture.h"
#include "system/durable_file.h"

namespace dent {
namespace {

namespace device = flashmoe::device;

// Spec holds views of its names, which have to stay.
std::string_view kept(const std::string& text) {
  static std::set<std::string> texts;
  return *texts.insert(text).first;
}

std::string file_name(const std::string& driver_name) {
  std::string name;
  for (const char c : driver_name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += plain ? c : '-';
  }
  return name + ".json";
}

void take(device::Figure& figure, const nlohmann::json& measured, const char* key) {
  if (const double value = measured.value(key, 0.0); value > 0) figure = {value, device::Origin::measured};
}

void apply(device::Spec& spec, const nlohmann::json& measurement) {
  const nlohmann::json measured = measurement.value("measured", nlohmann::json::object());
  take(spec.reached.bandwidth_gbs, measured, "bandwidth_gbs");
  // By plain loads; kernels that copy by TMA get more, so it only counts where nothing else is known.
  if (!(spec.reached.l2_gbs > 0)) take(spec.reached.l2_gbs, measured, "l2_gbs");
  take(spec.reached.tflops_16bit, measured, "tflops_16bit");
  take(spec.reached.gexps, measured, "gexps");
  take(spec.reached.launch_us, measured, "launch_us");
  take(spec.reached.host_launch_us, measured, "host_launch_us");
}

std::optional<nlohmann::json> read_measurement(const std::filesystem::path& file) {
  const auto text = read_text(file);
  if (!text) return std::nullopt;
  nlohmann::json found = parse_json(*text);
  if (!found.is_object() || !found.contains("measured") || !found.contains("name")) {
    throw Error(ErrorCode::invalid, file.string() + " is no measurement of a GPU",
                "remove it, and run dent devices --measure");
  }
  return found;
}

}  // namespace

std::filesystem::path measurements_folder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  if (data != nullptr && *data == '/') return std::filesystem::path(data) / "dent" / "devices";
  return std::filesystem::path(home != nullptr ? home : "/tmp") / ".local" / "share" / "dent" / "devices";
}

std::optional<nlohmann::json> stored_measurement(const std::string& driver_name) {
  return driver_name.empty() ? std::nullopt
                             : read_measurement(measurements_folder() / file_name(driver_name));
}

std::filesystem::path store_measurement(const nlohmann::json& measurement) {
  const std::filesystem::path folder = measurements_folder();
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / file_name(measurement.at("name").get<std::string>());
  write_durably(file, measurement.dump(2) + '\n');
  return file;
}

std::string gpu_name_here() {
  const auto answer = capture({"nvidia-smi", "--query-gpu=name", "--format=csv,noheader"}, 5);
  return answer ? answer->substr(0, answer->find('\n')) : "";
}

namespace {
// What was measured on a GPU of the table, whatever its driver called it.
std::optional<nlohmann::json> measurement_of(const device::Spec& spec) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(measurements_folder(), none)) {
    if (entry.path().extension() != ".json") continue;
    const auto measurement = read_measurement(entry.path());
    const device::Spec* measured = device::recognise(measurement->at("name").get<std::string>());
    if (measured != nullptr && measured->name == spec.name) return measurement;
  }
  return std::nullopt;
}
}  // namespace

device::Spec spec_from(const nlohmann::json& measurement) {
  const std::string name = measurement.at("name").get<std::string>();
  device::Spec spec;
  if (const device::Spec* known = device::recognise(name)) {
    spec = *known;
  } else {
    // A GPU that is in no table: what it reaches stands for its peaks too.
    spec = device::limits_of(measurement.at("arch").get<int>());
    spec.name = kept(name);
    spec.sheet = "no data sheet: peaks are what dent devices --measure reached";
    spec.chip = "the driver, when dent devices --measure ran";
    spec.chip_origin = device::Origin::measured;
    spec.sms = measurement.at("sms").get<int>();
    spec.smem_per_block = measurement.at("smem_per_block").get<int>();
    spec.smem_per_sm = measurement.at("smem_per_sm").get<int>();
    spec.threads_per_sm = measurement.at("threads_per_sm").get<int>();
    spec.blocks_per_sm = measurement.at("blocks_per_sm").get<int>();
    spec.l2_bytes = measurement.at("l2_bytes").get<std::int64_t>();
    spec.boost_mhz = measurement.at("clock_mhz").get<double>();
    spec.max_cluster = spec.arch == 90 ? 8 : 1;
    const nlohmann::json& measured = measurement.at("measured");
    spec.bandwidth_gbs = measured.value("bandwidth_gbs", 0.0);
    spec.tflops_16bit = measured.value("tflops_16bit", 0.0);
    spec.tflops_fp32 = 256e-6 * spec.sms * spec.boost_mhz;  // 128 units a SM
  }
  apply(spec, measurement);
  return spec;
}

device::Spec gpu_called(const std::string& name) {
  if (name != "here") {
    try {
      device::Spec spec = device::find(name);
      if (const auto measurement = measurement_of(spec)) apply(spec, *measurement);
      return spec;
    } catch (const flashmoe::Error& error) {
      if (const auto measurement = stored_measurement(name)) return spec_from(*measurement);
      std::string names;
      for (const device::Spec& spec : device::known()) names += std::string(spec.name) + ", ";
      throw Error(ErrorCode::invalid,
                  "no GPU called \"" + name + "\" is known; known are " + names + "and here",
                  "give one of them, or run dent devices --measure on a machine that has it");
    }
  }
  const std::string here = gpu_name_here();
  if (here.empty()) {
    throw Error(ErrorCode::environment, "there is no GPU in this machine (nvidia-smi gives none)",
                "name one: --device l4; dent devices lists them");
  }
  if (const auto measurement = stored_measurement(here)) return spec_from(*measurement);
  if (const device::Spec* known = device::recognise(here)) return *known;
  throw Error(ErrorCode::environment, "the GPU of this machine, " + here + ", is in no table",
              "run dent devices --measure once, or name another: --device l4");
}

std::vector<device::Spec> all_gpus() {
  std::vector<device::Spec> specs;
  for (const device::Spec& spec : device::known()) specs.push_back(gpu_called(std::string(spec.name)));
  return specs;
}

}  // namespace dent
