// SPDX-License-Identifier: MIT
#include "accounting/cost.h"

#include <map>
#include <utility>

#include "accounting/step_name.h"
#include "base/error.h"
#include "records/json.h"

namespace dent {
namespace {

constexpr double kHour = 3600;

void count(Cost& cost, const record::Gate& gate) {
  cost.wall_s += gate.elapsed_s;
  if (compiles(gate.step)) cost.build_s += gate.elapsed_s;
  if (runs_kernels(gate.step)) cost.device_s += gate.elapsed_s;
}

void count(Cost& cost, const record::Outcome& outcome) {
  cost.wall_s += outcome.overhead_s;  // dent's own time between its trials
  ++cost.iterations;
  cost.kept += outcome.outcome.kept ? 1 : 0;
}

void count(Cost& cost, const Proposal& proposal) {
  cost.wall_s += proposal.spend.seconds;
  if (proposal.proposer == "command" || proposal.proposer == "evaluate")
    cost.agent_s += proposal.spend.seconds;
  cost.reported_usd += proposal.spend.usd;
  cost.input_tokens += proposal.spend.input_tokens;
  cost.output_tokens += proposal.spend.output_tokens;
}

// A dent that was killed before it noted a booked period books it again, and longer: only the longest counts.
void count_uptime(Cost& cost, std::span<const Record> records) {
  std::map<std::pair<std::string, std::string>, const record::Uptime*> longest;
  for (const Record& record : records) {
    const auto* uptime = record.as<record::Uptime>();
    if (uptime == nullptr) continue;
    const record::Uptime*& known = longest[{uptime->executor, uptime->from}];
    if (known == nullptr || known->seconds < uptime->seconds) known = uptime;
  }
  for (const auto& [stretch, uptime] : longest) {
    cost.machine_s += uptime->seconds;
    cost.machine_usd += uptime->seconds / kHour * uptime->usd_per_hour;
  }
}

}  // namespace

// Reads rates as the manifest in effect states them. Not in the unnamed namespace, where Fields can't find
// it.
static void fields(Fields& f, Rates& rates) {
  f.may("device_usd_per_hour", rates.device_usd_per_hour, "of the device");
  f.may("agent_usd_per_hour", rates.agent_usd_per_hour, "of a program that proposes");
  f.may("engineer_usd_per_hour", rates.engineer_usd_per_hour, "of who waits");
}

Cost& Cost::operator+=(const Cost& other) {
  wall_s += other.wall_s;
  build_s += other.build_s;
  device_s += other.device_s;
  agent_s += other.agent_s;
  iterations += other.iterations;
  kept += other.kept;
  input_tokens += other.input_tokens;
  output_tokens += other.output_tokens;
  reported_usd += other.reported_usd;
  machine_s += other.machine_s;
  machine_usd += other.machine_usd;
  return *this;
}

Money& Money::operator+=(const Money& other) {
  device += other.device;
  agent += other.agent;
  engineer += other.engineer;
  return *this;
}

Cost cost_of(std::span<const Record> records) {
  Cost cost;
  for (const Record& record : records) {
    if (const auto* gate = record.as<record::Gate>()) count(cost, *gate);
    if (const auto* outcome = record.as<record::Outcome>()) count(cost, *outcome);
    if (const auto* iteration = record.as<record::Iteration>()) count(cost, iteration->proposal);
  }
  count_uptime(cost, records);
  return cost;
}

Money money_of(const Cost& cost, const Rates& rates) {
  Money money;
  money.device = cost.machine_usd > 0 ? cost.machine_usd : cost.device_s / kHour * rates.device_usd_per_hour;
  money.agent = cost.reported_usd > 0 ? cost.reported_usd : cost.agent_s / kHour * rates.agent_usd_per_hour;
  money.engineer = cost.wall_s / kHour * rates.engineer_usd_per_hour;
  return money;
}

Rates rates_of(std::span<const Record> records) {
  const auto* session = records.empty() ? nullptr : records.front().as<record::Session>();
  if (session == nullptr) return {};
  std::optional<Rates> rates;
  try {
    read_json(session->manifest, [&rates](Fields& f) { f("rates", rates, "of the manifest in effect"); });
  } catch (const Error&) {  // no readable manifest, so nothing has a price
  }
  return rates.value_or(Rates{});
}

void fields(Fields& f, Cost& cost) {
  f("wall_s", cost.wall_s, "that dent was at work");
  f("build_s", cost.build_s, "of it, compiling");
  f("device_s", cost.device_s, "of it, in gates that run kernels");
  f("agent_s", cost.agent_s, "of it, in programs that proposed");
  f("iterations", cost.iterations, "of an optimisation loop");
  f("kept", cost.kept, "of them");
  f("input_tokens", cost.input_tokens, "that proposers say they read");
  f("output_tokens", cost.output_tokens, "that proposers say they wrote");
  f.may("machine_s", cost.machine_s, "that a machine was up which is paid for");
}

void fields(Fields& f, Money& money) {
  f("device", money.device, "USD");
  f("agent", money.agent, "USD");
  f("engineer", money.engineer, "USD");
  double total = money.total();
  f("total", total, "USD");
}

}  // namespace dent
