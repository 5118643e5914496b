// SPDX-License-Identifier: MIT
#include "device/predict.h"

#include <algorithm>
#include <cstdio>

#include "device/floors.h"
#include "device/gpus.h"

namespace flashmoe::device {
namespace {

// 1 on a GPU that reaches the usual share of its peak.
double usual_share(double reached, double peak, double usual) {
  return reached > 0 && peak > 0 ? std::min(1.0, reached / peak / usual) : 1;
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
    case Unit::l1:
      return "L1 and shared memory";
    case Unit::launch:
      return "launch and latency";
  }
  return "?";
}

Prediction predict(const Spec& spec, const Launch& launch, const Work& work, const Manner& manner) {
  Prediction p = with_floors(spec, launch, work, manner.sm_gbs, manner.sm_l2_gbs);
  // Where less of the peak was measured than on the GPU of the calibration, arithmetic is slower by as much.
  const double exps =
      over(at(p.busy_floor_us, Unit::exp), usual_share(spec.reached.gexps, spec.gexps(), kExpShare));
  const double tensor =
      over(at(p.busy_floor_us, Unit::tensor),
           manner.tensor * usual_share(spec.reached.tflops_16bit, spec.tflops_16bit, kTensorShare));
  const double turns = rounds(spec, launch, p.occupancy.blocks, 1);
  const double waiting = rounds(spec, launch, p.occupancy.blocks, manner.alone) / turns;
  const double arithmetic =
      waiting * (tensor + at(p.busy_floor_us, Unit::fp32) / manner.fp32 + manner.exp_exposed * exps);
  const double dram = over(
      work.dram_bytes, 1e3 * std::min<double>(spec.reached.bandwidth_gbs, working_sms(p) * manner.sm_gbs));
  const double latency =
      at(p.floor_us, Unit::launch) + over(manner.start_cycles + turns * manner.item_cycles, spec.boost_mhz);
  const double longest = std::max({arithmetic, exps, dram, at(p.busy_floor_us, Unit::l2)});
  expect(p, latency + longest + manner.memory_exposed * std::min(arithmetic, dram), latency, manner.spread);
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
