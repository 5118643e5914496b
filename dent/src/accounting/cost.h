// SPDX-License-Identifier: MIT
// What a session took: time, device time, money. Counted from its records, so that it survives kills and
// resumes.
#pragma once

#include <cstdint>
#include <span>

#include "project/project.h"
#include "records/any_record.h"

namespace dent {

struct Cost {
  double wall_s = 0;    // that dent was at work; pauses between a kill and a resume are not
  double build_s = 0;   // of it, compiling,
  double device_s = 0;  // gates that run kernels,
  double agent_s = 0;   // and programs that proposed
  int iterations = 0;
  int kept = 0;
  std::int64_t input_tokens = 0, output_tokens = 0;
  double reported_usd = 0;  // by proposers
  double machine_s = 0;     // that a machine was up which costs money, at work or not,
  double machine_usd = 0;   // and what that was

  Cost& operator+=(const Cost& other);
};

Cost cost_of(std::span<const Record> records);

struct Money {
  double device = 0, agent = 0, engineer = 0;  // in USD
  double total() const { return device + agent + engineer; }
  Money& operator+=(const Money& other);
};
// A machine that is paid for by its uptime costs that, and its gates nothing besides. An agent costs what it
// reported; where it reported nothing, its time at its rate.
Money money_of(const Cost& cost, const Rates& rates);

// Those that held when the session was recorded.
Rates rates_of(std::span<const Record> records);

void fields(Fields& f, Cost& cost);
void fields(Fields& f, Money& money);

}  // namespace dent
