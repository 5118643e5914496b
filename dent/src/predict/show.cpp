// SPDX-License-Identifier: MIT
#include "predict/show.h"

#include <fmt/format.h>

namespace dent {
namespace {

namespace device = flashmoe::device;

std::string us(double value) {
  if (value >= 1e6) return fmt::format("{:.2f} s", value * 1e-6);
  if (value >= 1000) return fmt::format("{:.2f} ms", value * 1e-3);
  return fmt::format("{:.{}f} us", value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}

std::string key_of(device::Unit unit) {
  switch (unit) {
    case device::Unit::tensor:
      return "tensor";
    case device::Unit::fp32:
      return "fp32";
    case device::Unit::exp:
      return "exp";
    case device::Unit::dram:
      return "dram";
    case device::Unit::l2:
      return "l2";
    case device::Unit::l1:
      return "l1";
    case device::Unit::launch:
      return "launch";
  }
  return "?";
}

}  // namespace

std::string forecast_text(const Forecast& f) {
  const device::Prediction& p = f.prediction;
  std::string text = device::headline(p, f.gpu) + "\n";
  text += fmt::format("  {}{}, {}\n", f.title == f.kernel ? "" : f.title + ": ", f.kernel, f.detail);
  if (!f.why.empty()) text += fmt::format("  {:<11}{}\n", "because", f.why);
  const double at_once = static_cast<double>(p.ctas) / p.waves;
  text += fmt::format("  {:<11}{:.2f} ({} CTAs, {:.0f} run at once)", "waves", p.waves, p.ctas, at_once);
  text +=
      p.waves <= 1 ? ": fewer than one\n" : fmt::format("; the last one is {:.0f} % empty\n", 100 * p.tail);
  text += fmt::format("  {:<11}{} CTAs and {:.0f} % of the warps an SM holds, limited by {}\n", "occupancy",
                      p.occupancy.blocks, 100 * p.occupancy.share, device::name_of(p.occupancy.limiter));
  text += fmt::format("  {:<32}{:>12}{:>14}\n", "at least", "whole chip", "SMs that work");
  for (int i = 0; i < device::kUnits; ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (!(p.busy_floor_us[index] > 0)) continue;
    text += fmt::format("    {:<30}{:>12}{:>14}\n", device::name_of(static_cast<device::Unit>(i)),
                        us(p.floor_us[index]), us(p.busy_floor_us[index]));
  }
  text += fmt::format("  {:<11}{} ({} to {}), most of it {}; {}\n", "expected", us(p.expected_us),
                      us(p.low_us), us(p.high_us), device::name_of(p.dominating),
                      f.calibrated ? "calibrated on an H200" : "not calibrated: a wide range");
  for (std::size_t i = 0; i < f.changes.size(); ++i) {
    text += fmt::format("  {:<11}{}, {} -> {}\n", i == 0 ? "change" : "or", f.changes[i].what,
                        us(p.expected_us), us(f.changes[i].expected_us));
  }
  for (const std::string& note : f.notes) text += fmt::format("  {:<11}{}\n", "note", note);
  return text;
}

std::string forecast_table(std::span<const Forecast> forecasts) {
  std::string text = fmt::format("{:<10} {:<38} {:<15} {:>7} {:>7} {:>7} {:>10} {:>22}  {}\n", "GPU", "shape",
                                 "kernel", "CTAs", "waves", "share", "expected", "range", "most of it");
  for (const Forecast& f : forecasts) {
    const device::Prediction& p = f.prediction;
    text += fmt::format("{:<10} {:<38} {:<15} {:>7} {:>7.2f} {:>5.1f} % {:>10} {:>22}  {}\n", f.gpu.name,
                        f.title, f.kernel, p.ctas, p.waves, 100 * p.chip_share, us(p.expected_us),
                        us(p.low_us) + " to " + us(p.high_us), device::name_of(p.dominating));
  }
  return text;
}

record::Prediction to_record(const Forecast& f, const std::string& shape) {
  const device::Prediction& p = f.prediction;
  record::Prediction record{.shape = shape,
                            .device = std::string(f.gpu.name),
                            .title = f.title,
                            .kernel = f.kernel,
                            .detail = f.detail,
                            .reason = f.why,
                            .headline = device::headline(p, f.gpu),
                            .dominating = key_of(p.dominating),
                            .fits = p.fits,
                            .calibrated = f.calibrated,
                            .ctas = p.ctas,
                            .sms = p.sms,
                            .busy_sms = p.busy_sms,
                            .chip_share = p.chip_share,
                            .waves = p.waves,
                            .tail = p.tail,
                            .least_us = p.least_us,
                            .expected_us = p.expected_us,
                            .low_us = p.low_us,
                            .high_us = p.high_us,
                            .occupancy = {p.occupancy.blocks, p.occupancy.warps, p.occupancy.share,
                                          std::string(device::name_of(p.occupancy.limiter))},
                            .block = {f.launch.block.threads, f.launch.block.registers,
                                      f.launch.block.smem_bytes, f.launch.cluster},
                            .work = {f.work.matrix_flops, f.work.fp32_flops, f.work.exps, f.work.dram_bytes,
                                     f.work.l2_bytes, f.work.l1_bytes},
                            .floor_us = {},
                            .busy_floor_us = {},
                            .changes = {},
                            .notes = f.notes};
  for (int i = 0; i < device::kUnits; ++i) {
    const auto index = static_cast<std::size_t>(i);
    record.floor_us[key_of(static_cast<device::Unit>(i))] = p.floor_us[index];
    record.busy_floor_us[key_of(static_cast<device::Unit>(i))] = p.busy_floor_us[index];
  }
  for (const device::Change& change : f.changes)
    record.changes.push_back({change.what, change.ctas, change.expected_us});
  return record;
}

}  // namespace dent
