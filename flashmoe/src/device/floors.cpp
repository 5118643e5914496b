// SPDX-License-Identifier: MIT
#include "device/floors.h"

#include <algorithm>
#include <cmath>

namespace flashmoe::device {
namespace {

constexpr double kL1BytesPerClock = 128;  // of an SM, shared memory included

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

// Clusters of a grid that run at the same time lie within groups of SMs; what is left over in those is lost.
double sms_in_reach(const Spec& spec, const Launch& launch) {
  const int cluster = std::max(1, launch.cluster);
  return cluster == 1 ? spec.sms : static_cast<double>(spec.sms / cluster) * cluster;
}

double pieces(const Launch& launch) {
  return static_cast<double>(launch.items > 0 ? launch.items : launch.ctas);
}

}  // namespace

// CTAs that share an SM hide each other's waiting; one that is alone does not, and neither does the longest
// one when the others are done.
double rounds(const Spec& spec, const Launch& launch, int resident, double alone) {
  const double sms = std::min(sms_in_reach(spec, launch), static_cast<double>(launch.ctas));
  const double items = pieces(launch);
  if (launch.largest > 1) return std::max(items / sms, launch.largest / alone);  // the rest fills the gaps
  const double most = std::ceil(items / sms);
  if (launch.items > launch.ctas) return most;  // persistent CTAs are alone anyhow
  const double last = std::fmod(most, std::max(1, resident));
  return most - last + (last > 0 ? std::max(last, 1 / alone) : 0);
}

double working_sms(const Prediction& p) { return std::max(1.0, p.chip_share * p.sms); }

Prediction with_floors(const Spec& spec, const Launch& launch, const Work& work, double sm_gbs,
                       double sm_l2_gbs) {
  Prediction p;
  p.ctas = launch.ctas;
  p.sms = spec.sms;
  p.occupancy = occupancy(spec, launch.block);
  p.fits = p.occupancy.blocks > 0;
  const double slots = sms_in_reach(spec, launch) * std::max(1, p.occupancy.blocks);
  p.waves = static_cast<double>(launch.ctas) / slots;
  p.tail = 1 - p.waves / std::ceil(p.waves);
  p.busy_sms = std::min<int64_t>(launch.ctas, spec.sms);
  p.chip_share = std::min(1.0, pieces(launch) / (rounds(spec, launch, p.occupancy.blocks, 1) * spec.sms));

  const double l2_bytes = std::max(work.l2_bytes, work.dram_bytes);
  const double l1_bytes = std::max(work.l1_bytes, l2_bytes);
  at(p.floor_us, Unit::tensor) = over(work.matrix_flops, 1e6 * matrix_peak_tflops(spec, work.matrix_type));
  at(p.floor_us, Unit::fp32) = over(work.fp32_flops, 1e6 * spec.tflops_fp32);
  at(p.floor_us, Unit::exp) = over(work.exps, 1e3 * spec.gexps());
  at(p.floor_us, Unit::dram) = over(work.dram_bytes, 1e3 * spec.bandwidth_gbs);
  at(p.floor_us, Unit::l2) = over(l2_bytes, 1e3 * spec.reached.l2_gbs);
  at(p.floor_us, Unit::l1) = over(l1_bytes, kL1BytesPerClock * spec.sms * spec.boost_mhz);
  at(p.floor_us, Unit::launch) = launch.launches * spec.reached.launch_us;

  // Units of an SM work only where a CTA is; memory and L2 are shared, but one SM alone draws only so much.
  p.busy_floor_us = p.floor_us;
  for (const Unit unit : {Unit::tensor, Unit::fp32, Unit::exp, Unit::l1})
    at(p.busy_floor_us, unit) /= p.chip_share;
  const double sms = working_sms(p);
  at(p.busy_floor_us, Unit::dram) = over(work.dram_bytes, 1e3 * std::min(spec.bandwidth_gbs, sms * sm_gbs));
  at(p.busy_floor_us, Unit::l2) =
      over(l2_bytes, 1e3 * std::min<double>(spec.reached.l2_gbs, sms * sm_l2_gbs));
  for (int i = 0; i < kUnits - 1; ++i)
    p.least_us = std::max(p.least_us, at(p.busy_floor_us, static_cast<Unit>(i)));
  p.least_us += at(p.floor_us, Unit::launch);
  return p;
}

void expect(Prediction& p, double expected_us, double latency_us, double spread) {
  p.dominating = Unit::launch;
  double most = std::max(latency_us, at(p.floor_us, Unit::launch));
  for (int i = 0; i < kUnits - 1; ++i) {
    const auto unit = static_cast<Unit>(i);
    if (at(p.busy_floor_us, unit) <= most) continue;
    most = at(p.busy_floor_us, unit);
    p.dominating = unit;
  }
  p.expected_us = std::max(expected_us, p.least_us);
  p.low_us = std::max(p.least_us, p.expected_us / spread);
  p.high_us = p.expected_us * spread;
}

}  // namespace flashmoe::device
