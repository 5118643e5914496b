// SPDX-License-Identifier: MIT
#include "device/predict.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "device/gpus.h"

namespace flashmoe::device {
namespace {

double over(double amount, double rate) { return amount <= 0 || rate <= 0 ? 0 : amount / rate; }

double matrix_peak_tflops(const Spec& spec, MatrixType type) {
  switch (type) {
    case MatrixType::bits16:
      return spec.tflops_16bit;
    case MatrixType::bits8:
      return spec.tflops_8bit;
    case MatrixType::tf32:
      return spec.tflops_tf32;
  }
  return 0;
}

// 1 on a GPU that reaches the usual share of its peak.
double usual_share(double reached, double peak, double usual) {
  return reached > 0 && peak > 0 ? std::min(1.0, reached / peak / usual) : 1;
}

// How long the SM with most to do works, in pieces of mean size at its full rate. CTAs that share an SM hide
// each other's waiting; one that is alone does not, and neither does the longest one when the others are
// done.
double rounds(const Launch& launch, double items, double sms, int resident, double alone) {
  if (launch.largest > 1) return std::max(items / sms, launch.largest / alone);  // the rest fills the gaps
  const double most = std::ceil(items / sms);
  if (launch.items > launch.ctas) return most;  // persistent CTAs are alone anyhow
  const double last = std::fmod(most, std::max(1, resident));
  return most - last + (last > 0 ? std::max(last, 1 / alone) : 0);
}

// Clusters of a grid that run at the same time lie within groups of SMs; what is left over in those is lost.
double sms_in_reach(const Spec& spec, const Launch& launch) {
  const int cluster = std::max(1, launch.cluster);
  return cluster == 1 ? spec.sms : static_cast<double>(spec.sms / cluster) * cluster;
}

}  // namespace

const char* name_of(Unit unit) {
  switch (unit) {
    case Unit::tensor:
      return "tensor cores";
    case Unit::fp32:
      return "fp32 units";
    case Unit::exp:
      return "exponentials";
    case Unit::dram:
      return "memory";
    case Unit::l2:
      return "L2 cache";
    case Unit::launch:
      return "launch and latency";
  }
  return "?";
}

Prediction predict(const Spec& spec, const Launch& launch, const Work& work, const Manner& manner) {
  Prediction p;
  p.ctas = launch.ctas;
  p.sms = spec.sms;
  p.occupancy = occupancy(spec, launch.block);
  p.fits = p.occupancy.blocks > 0;
  const double sms = sms_in_reach(spec, launch);
  const auto items = static_cast<double>(launch.items > 0 ? launch.items : launch.ctas);
  const double slots = sms * std::max(1, p.occupancy.blocks);
  p.waves = static_cast<double>(launch.ctas) / slots;
  p.tail = 1 - p.waves / std::ceil(p.waves);
  p.busy_sms = std::min<int64_t>(launch.ctas, spec.sms);
  const double reach = std::min(sms, static_cast<double>(launch.ctas));
  const double turns = rounds(launch, items, reach, p.occupancy.blocks, 1);
  p.chip_share = std::min(1.0, items / (turns * spec.sms));

  const double l2_bytes = std::max(work.l2_bytes, work.dram_bytes);
  const auto at = [](auto& times, Unit unit) -> double& { return times[static_cast<std::size_t>(unit)]; };
  at(p.floor_us, Unit::tensor) = over(work.matrix_flops, 1e6 * matrix_peak_tflops(spec, work.matrix_type));
  at(p.floor_us, Unit::fp32) = over(work.fp32_flops, 1e6 * spec.tflops_fp32);
  at(p.floor_us, Unit::exp) = over(work.exps, 1e3 * spec.gexps());
  at(p.floor_us, Unit::dram) = over(work.dram_bytes, 1e3 * spec.bandwidth_gbs);
  at(p.floor_us, Unit::l2) = over(l2_bytes, 1e3 * spec.reached.l2_gbs);
  at(p.floor_us, Unit::launch) = launch.launches * spec.reached.launch_us;

  // Units of an SM work only where a CTA is; memory and L2 are shared, but one SM alone draws only so much.
  const double working = std::max(1.0, p.chip_share * spec.sms);
  const double dram_gbs = working * manner.sm_gbs, l2_gbs = working * manner.sm_l2_gbs;
  p.busy_floor_us = p.floor_us;
  for (const Unit unit : {Unit::tensor, Unit::fp32, Unit::exp}) at(p.busy_floor_us, unit) /= p.chip_share;
  at(p.busy_floor_us, Unit::dram) = over(work.dram_bytes, 1e3 * std::min(spec.bandwidth_gbs, dram_gbs));
  at(p.busy_floor_us, Unit::l2) = over(l2_bytes, 1e3 * std::min<double>(spec.reached.l2_gbs, l2_gbs));

  // Where less of the peak was measured than on the GPU of the calibration, arithmetic is slower by as much.
  const double exps =
      over(at(p.busy_floor_us, Unit::exp), usual_share(spec.reached.gexps, spec.gexps(), kExpShare));
  const double tensor =
      over(at(p.busy_floor_us, Unit::tensor),
           manner.tensor * usual_share(spec.reached.tflops_16bit, spec.tflops_16bit, kTensorShare));
  const double waiting = rounds(launch, items, reach, p.occupancy.blocks, manner.alone) / turns;
  const double arithmetic =
      waiting * (tensor + at(p.busy_floor_us, Unit::fp32) / manner.fp32 + manner.exp_exposed * exps);
  const double dram = over(work.dram_bytes, 1e3 * std::min<double>(spec.reached.bandwidth_gbs, dram_gbs));
  const double latency =
      at(p.floor_us, Unit::launch) + over(manner.start_cycles + turns * manner.item_cycles, spec.boost_mhz);
  const double longest = std::max({arithmetic, exps, dram, at(p.busy_floor_us, Unit::l2)});
  p.expected_us = latency + longest + manner.memory_exposed * std::min(arithmetic, dram);
  p.dominating = Unit::launch;
  double most = std::max(latency, at(p.floor_us, Unit::launch));
  for (int i = 0; i < kUnits - 1; ++i) {
    const auto unit = static_cast<Unit>(i);
    if (at(p.busy_floor_us, unit) > most) {
      most = at(p.busy_floor_us, unit);
      p.dominating = unit;
    }
    p.least_us = std::max(p.least_us, at(p.busy_floor_us, unit));
  }
  p.least_us += at(p.floor_us, Unit::launch);
  p.expected_us = std::max(p.expected_us, p.least_us);
  p.low_us = std::max(p.least_us, p.expected_us / manner.spread);
  p.high_us = p.expected_us * manner.spread;
  return p;
}

std::string headline(const Prediction& p, const Spec& spec) {
  char text[160];
  std::snprintf(text, sizeof text, "%lld CTA%s on %d SMs: %.1f %% of the %.*s works",
                static_cast<long long>(p.ctas), p.ctas == 1 ? "" : "s", p.sms, 100 * p.chip_share,
                static_cast<int>(spec.name.size()), spec.name.data());
  return text;
}

}  // namespace flashmoe::device
