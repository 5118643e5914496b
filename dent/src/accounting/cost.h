// SPDX-License-Identifier: MIT
// Cost of a session: time, device time and money. Computed from its records, so that kills and resumes don't
// matter.
#pragma once

#include <cstdint>
#include <span>

#include "project/project.h"
#include "records/any_record.h"

namespace dent {

struct Cost {
  double wall_s = 0;    // while dent was at work; excludes pauses between a kill and a resume
  double build_s = 0;   // part of it for compiling,
  double device_s = 0;  // for gates that run kernels,
  double agent_s = 0;   // and for proposers
  int iterations = 0;
  int kept = 0;
  std::int64_t input_tokens = 0, output_tokens = 0;
  double reported_usd = 0;  // as reported by proposers
  double machine_s = 0;     // uptime of a rented machine, at work or not,
  double machine_usd = 0;   // and its price

  Cost& operator+=(const Cost& other);
};

Cost cost_of(std::span<const Record> records);

struct Money {
  double device = 0, agent = 0, engineer = 0;  // USD
  double total() const { return device + agent + engineer; }
  Money& operator+=(const Money& other);
};
// A machine that is paid for by uptime costs its uptime, and its gates cost nothing more. A proposer costs
// what it reported or, if it reported nothing, its time at the given rate.
Money money_of(const Cost& cost, const Rates& rates);

// The rates that were in effect when the session was recorded.
Rates rates_of(std::span<const Record> records);

void fields(Fields& f, Cost& cost);
void fields(Fields& f, Money& money);

}  // namespace dent
