// SPDX-License-Identifier: MIT
#include "predict/peaks.h"

#include "device/spec.h"

namespace dent {

std::optional<Peaks> gpu_peaks(std::string_view name) {
  const flashmoe::device::Spec* best = flashmoe::device::recognise(name);
  if (best == nullptr) return std::nullopt;
  return Peaks{std::string(best->name), 1000 * best->tflops_16bit, best->bandwidth_gbs, PeakSource::table};
}

std::optional<Peaks> device_peaks(DeviceKind kind, const std::string& name) {
  return kind == DeviceKind::cuda ? gpu_peaks(name) : std::optional(cpu_peaks(name));
}

record::Roofline roofline_of(const Peaks& peaks) {
  return {peaks.device, peaks.gflops, peaks.gbs, peaks.source};
}

}  // namespace dent
