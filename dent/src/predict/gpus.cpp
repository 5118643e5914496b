// SPDX-License-Identifier: MIT
#include "predict/gpus.h"

#include <cstdlib>
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

// Spec refers to names by views; this keeps the texts alive.
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

void take(device::Figure& figure, double value) {
  if (value > 0) figure = {value, device::Origin::measured};
}

void apply(device::Spec& spec, const ReachedFigures& measured) {
  take(spec.reached.bandwidth_gbs, measured.bandwidth_gbs);
  // Measured by plain loads. TMA reaches more, so the value is only used if nothing better is known.
  if (!(spec.reached.l2_gbs > 0)) take(spec.reached.l2_gbs, measured.l2_gbs);
  take(spec.reached.tflops_16bit, measured.tflops_16bit);
  take(spec.reached.gexps, measured.gexps);
  take(spec.reached.launch_us, measured.launch_us);
  take(spec.reached.host_launch_us, measured.host_launch_us);
}

std::optional<Measurement> read_measurement(const std::filesystem::path& file) {
  const auto text = read_text(file);
  if (!text) return std::nullopt;
  try {
    return from_json_text<Measurement>(*text);
  } catch (const Error& problem) {
    throw Error(ErrorCode::invalid,
                file.string() + " is not a valid measurement of a GPU: " + problem.in_one_line(),
                "delete the file, then run dent devices --measure");
  }
}

}  // namespace

std::filesystem::path measurements_folder() {
  const char* data = std::getenv("XDG_DATA_HOME");
  const char* home = std::getenv("HOME");
  if (data != nullptr && *data == '/') return std::filesystem::path(data) / "dent" / "devices";
  return std::filesystem::path(home != nullptr ? home : "/tmp") / ".local" / "share" / "dent" / "devices";
}

std::optional<Measurement> stored_measurement(const std::string& driver_name) {
  return driver_name.empty() ? std::nullopt
                             : read_measurement(measurements_folder() / file_name(driver_name));
}

std::filesystem::path store_measurement(const Measurement& measurement) {
  const std::filesystem::path folder = measurements_folder();
  std::filesystem::create_directories(folder);
  const std::filesystem::path file = folder / file_name(measurement.name);
  write_durably(file, indented(to_json_text(measurement), 2) + '\n');
  return file;
}

std::string gpu_name_here() {
  const auto answer = capture({"nvidia-smi", "--query-gpu=name", "--format=csv,noheader"}, 5);
  return answer ? answer->substr(0, answer->find('\n')) : "";
}

namespace {
// The stored measurement for a GPU of the table, whatever the driver's name for it.
std::optional<Measurement> measurement_of(const device::Spec& spec) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(measurements_folder(), none)) {
    if (entry.path().extension() != ".json") continue;
    const auto measurement = read_measurement(entry.path());
    const device::Spec* measured = device::recognise(measurement->name);
    if (measured != nullptr && measured->name == spec.name) return measurement;
  }
  return std::nullopt;
}
}  // namespace

device::Spec spec_from(const Measurement& measurement) {
  device::Spec spec;
  if (const device::Spec* known = device::recognise(measurement.name)) {
    spec = *known;
  } else {
    // A GPU outside the table: measured rates replace its peaks.
    spec = device::limits_of(measurement.arch);
    spec.name = kept(measurement.name);
    spec.sheet = "no data sheet: peaks were measured by dent devices --measure";
    spec.chip = "the driver, when dent devices --measure ran";
    spec.chip_origin = device::Origin::measured;
    spec.sms = measurement.sms;
    spec.smem_per_block = measurement.smem_per_block;
    spec.smem_per_sm = measurement.smem_per_sm;
    spec.threads_per_sm = measurement.threads_per_sm;
    spec.blocks_per_sm = measurement.blocks_per_sm;
    spec.l2_bytes = measurement.l2_bytes;
    spec.boost_mhz = measurement.clock_mhz;
    spec.max_cluster = spec.arch == 90 ? 8 : 1;
    spec.bandwidth_gbs = measurement.measured.bandwidth_gbs;
    spec.tflops_16bit = measurement.measured.tflops_16bit;
    spec.tflops_fp32 = 256e-6 * spec.sms * spec.boost_mhz;  // 128 fp32 units per SM
  }
  apply(spec, measurement.measured);
  return spec;
}

device::Spec gpu_called(const std::string& name) {
  if (name != "here") {
    try {
      device::Spec spec = device::find(name);
      if (const auto measurement = measurement_of(spec)) apply(spec, measurement->measured);
      return spec;
    } catch (const flashmoe::Error& error) {
      if (const auto measurement = stored_measurement(name)) return spec_from(*measurement);
      std::string names;
      for (const device::Spec& spec : device::known()) names += std::string(spec.name) + ", ";
      throw Error(ErrorCode::invalid,
                  "no GPU called \"" + name + "\" is known; accepted are " + names + "and here",
                  "choose one of them, or run dent devices --measure on a machine with that GPU");
    }
  }
  const std::string here = gpu_name_here();
  if (here.empty()) {
    throw Error(ErrorCode::environment, "this machine has no GPU (nvidia-smi finds none)",
                "choose one, such as --device l4; dent devices lists them");
  }
  if (const auto measurement = stored_measurement(here)) return spec_from(*measurement);
  if (const device::Spec* known = device::recognise(here)) return *known;
  throw Error(ErrorCode::environment, "the GPU of this machine, " + here + ", is not in dent's table",
              "run dent devices --measure once, or choose another GPU, such as --device l4");
}

std::vector<device::Spec> all_gpus() {
  std::vector<device::Spec> specs;
  for (const device::Spec& spec : device::known()) specs.push_back(gpu_called(std::string(spec.name)));
  return specs;
}

}  // namespace dent
