// SPDX-License-Identifier: MIT
// What every prediction begins with: how CTAs lie on SMs, and what each unit needs at least.
#pragma once

#include "device/predict.h"

namespace flashmoe::device {

inline double over(double amount, double rate) { return amount <= 0 || rate <= 0 ? 0 : amount / rate; }

inline double& at(std::array<double, kUnits>& times, Unit unit) {
  return times[static_cast<std::size_t>(unit)];
}

// How long the SM with most to do works, in pieces of mean size at its full rate. `alone`: share of that rate
// that one CTA reaches where no other hides its waiting.
double rounds(const Spec& spec, const Launch& launch, int resident, double alone);

// SMs that work, on average over the launch.
double working_sms(const Prediction& prediction);

// Everything but the expected time. One SM draws at most so much from memory and from the L2 cache.
Prediction with_floors(const Spec& spec, const Launch& launch, const Work& work, double sm_gbs,
                       double sm_l2_gbs);

// The expected time with its range, never below the floors. `latency_us`: what no unit is busy in.
void expect(Prediction& prediction, double expected_us, double latency_us, double spread);

}  // namespace flashmoe::device
