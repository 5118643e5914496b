// SPDX-License-Identifier: MIT
// The time of a kernel of which only its launch and its work are known.
//
// Two things take their time: the busiest unit, at the rate that plain kernels reach; and a CTA's waiting,
// one trip to memory after the other. CTAs that are on an SM together wait together, and while some wait
// others work: so waiting counts by waves, not by CTAs, and goes on beside the work. Only the first wave's is
// seen.
#include <algorithm>
#include <cmath>

#include "device/floors.h"

namespace flashmoe::device {
namespace {

// From the kernels of flashmoe/benches/plain_kernels on an H200; dent/docs/predict.md shows how well they do.
constexpr double kTensor = 0.3, kFp32 = 0.5, kExp = 0.7, kL1 = 0.75, kL2 = 0.65;  // shares of the peaks
constexpr double kSmGbs = 70, kSmL2Gbs = 105;                                     // that one SM draws
constexpr double kMemoryCycles = 900, kL2Cycles = 450;  // of a trip to memory, and to the L2 cache
constexpr double kStartCycles = 1000;                   // until a CTA goes on its first trip
constexpr double kSeen = 0.7;                           // share of a CTA's waiting that nothing hides
constexpr double kBytesOfATrip = 32;                    // of a thread, where trips are not given
constexpr double kSpread = 2;

double trips_of(const Launch& launch, const Work& work) {
  const double bytes = std::max(work.l2_bytes, work.dram_bytes);
  if (launch.trips > 0 || bytes <= 0) return launch.trips;
  const double threads = static_cast<double>(launch.ctas) * launch.block.threads;
  return std::max(1.0, bytes / threads / kBytesOfATrip);
}

// What goes on at the same time takes little more than the longest of it.
template <class... Times>
double together(Times... times) {
  return std::pow((std::pow(times, 4) + ...), 0.25);
}

}  // namespace

Prediction predict_plain(const Spec& spec, const Launch& launch, const Work& work) {
  Prediction p = with_floors(spec, launch, work, kSmGbs, kSmL2Gbs);
  const auto needs = [&p](Unit unit) { return at(p.busy_floor_us, unit); };
  const double sms = working_sms(p), l2_bytes = std::max(work.l2_bytes, work.dram_bytes);
  const double dram = over(work.dram_bytes, 1e3 * std::min<double>(spec.reached.bandwidth_gbs, sms * kSmGbs));
  const double l2 = over(l2_bytes, 1e3 * std::min<double>(kL2 * spec.reached.l2_gbs, sms * kSmL2Gbs));
  const double busy = together(needs(Unit::tensor) / kTensor + needs(Unit::fp32) / kFp32,
                               needs(Unit::exp) / kExp, needs(Unit::l1) / kL1, l2, dram);
  const double from_memory = over(work.dram_bytes, l2_bytes);
  const double trip = kL2Cycles + from_memory * (kMemoryCycles - kL2Cycles);
  const double waiting = over(kStartCycles + trips_of(launch, work) * trip, spec.boost_mhz);
  const double seen = at(p.floor_us, Unit::launch) + kSeen * waiting;
  expect(p, seen + together(busy, p.waves * waiting), seen, kSpread);
  return p;
}

}  // namespace flashmoe::device
