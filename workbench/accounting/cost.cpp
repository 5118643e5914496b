// SPDX-License-Identifier: MIT
#include "accounting/cost.h"

#include <nlohmann/json.hpp>
#include <string>

#include "records/json_text.h"

namespace dent {
namespace {

using nlohmann::json;

bool runs_kernels(const std::string& step) {
  for (const char* part : {"correctness", "performance", "baseline", "sanitize", "gain", "screening",
                           "confirmation", "standing"}) {
    if (step.find(part) != std::string::npos) return true;
  }
  return false;
}

void count(Cost& cost, const std::string& step, double seconds) {
  cost.wall_s += seconds;
  if (step.find("build") != std::string::npos) cost.build_s += seconds;
  if (runs_kernels(step)) cost.device_s += seconds;
}

}  // namespace

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
  return *this;
}

Cost cost_of(std::span<const Record> records) {
  Cost cost;
  for (const Record& record : records) {
    const json& data = record.data;
    if (record.kind == "gate") count(cost, data.value("step", ""), data.value("elapsed_s", 0.0));
    if (record.kind == "trial") count(cost, data.value("trial", ""), data.value("elapsed_s", 0.0));
    if (record.kind == "outcome") {  // what lay between its trials
      cost.wall_s += data.value("overhead_s", 0.0);
      ++cost.iterations;
      cost.kept += data.value("kept", false) ? 1 : 0;
    }
    if (record.kind != "iteration" && record.kind != "spend") continue;
    const json spend = record.kind == "spend" ? data : data.value("spend", json::object());
    const double seconds = spend.value("seconds", 0.0);
    cost.wall_s += seconds;
    const std::string proposer = data.value("proposer", "");
    if (proposer == "command" || proposer == "evaluate") cost.agent_s += seconds;
    cost.reported_usd += spend.value("usd", 0.0);
    cost.input_tokens += spend.value("input_tokens", 0LL);
    cost.output_tokens += spend.value("output_tokens", 0LL);
  }
  return cost;
}

Money money_of(const Cost& cost, const Rates& rates) {
  constexpr double kHour = 3600;
  Money money;
  money.device = cost.device_s / kHour * rates.device_usd_per_hour;
  money.agent = cost.reported_usd > 0 ? cost.reported_usd : cost.agent_s / kHour * rates.agent_usd_per_hour;
  money.engineer = cost.wall_s / kHour * rates.engineer_usd_per_hour;
  return money;
}

Rates rates_of(std::span<const Record> records) {
  Rates rates;
  if (records.empty()) return rates;
  const json config = parse_json(records.front().data.value("manifest", ""));
  if (!config.is_object() || !config.contains("rates")) return rates;
  const json& found = config.at("rates");
  rates.device_usd_per_hour = found.value("device_usd_per_hour", 0.0);
  rates.agent_usd_per_hour = found.value("agent_usd_per_hour", 0.0);
  rates.engineer_usd_per_hour = found.value("engineer_usd_per_hour", 0.0);
  return rates;
}

json to_json(const Cost& cost, const Money& money) {
  json out{{"wall_s", cost.wall_s},
           {"build_s", cost.build_s},
           {"device_s", cost.device_s},
           {"agent_s", cost.agent_s},
           {"iterations", cost.iterations},
           {"kept", cost.kept},
           {"input_tokens", cost.input_tokens},
           {"output_tokens", cost.output_tokens}};
  if (money.total() > 0) {
    out["usd"] = {{"device", money.device},
                  {"agent", money.agent},
                  {"engineer", money.engineer},
                  {"total", money.total()}};
  }
  return out;
}

}  // namespace dent
