// SPDX-License-Identifier: MIT
#include "records/quantities.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace dent {
namespace {

constexpr Presence kAbsences[] = {Presence::missing, Presence::not_a_number, Presence::not_applicable};

}  // namespace

std::string_view name(Presence presence) {
  switch (presence) {
    case Presence::value:
      return "value";
    case Presence::missing:
      return "missing";
    case Presence::not_a_number:
      return "not a number";
    case Presence::not_applicable:
      return "not applicable";
  }
  return "";
}

void Quantities::set(const std::string& name, double value) {
  if (std::isfinite(value)) {
    readings_[name] = {Presence::value, value};
  } else {
    readings_[name] = {Presence::not_a_number, 0, "the profiler gave no finite number"};
  }
}

void Quantities::not_applicable(const std::string& name, std::string why) {
  readings_[name] = {Presence::not_applicable, 0, std::move(why)};
}

Reading Quantities::at(std::string_view name) const {
  const auto found = readings_.find(name);
  return found == readings_.end() ? Reading{} : found->second;
}

double Quantities::operator[](std::string_view key) const {
  const Reading reading = at(key);
  if (reading.presence != Presence::value) {
    throw Error(ErrorCode::internal, std::string(key) + " is " + std::string(name(reading.presence)));
  }
  return reading.value;
}

nlohmann::json to_json(const Quantities& quantities) {
  nlohmann::json record = nlohmann::json::object();
  for (const auto& [key, reading] : quantities.all()) {
    if (reading.presence == Presence::value) {
      record[key] = reading.value;
      continue;
    }
    record[key] = {{"absent", name(reading.presence)}};
    if (!reading.why.empty()) record[key]["why"] = reading.why;
  }
  return record;
}

Quantities quantities_of(const nlohmann::json& record) {
  Quantities quantities;
  for (const auto& [key, value] : record.items()) {
    if (value.is_number()) {
      quantities.set(key, value.get<double>());
      continue;
    }
    if (!value.is_object()) continue;
    Reading reading{Presence::missing, 0, value.value("why", "")};
    for (const Presence absence : kAbsences) {
      if (value.value("absent", "") == name(absence)) reading.presence = absence;
    }
    quantities.put(key, std::move(reading));
  }
  return quantities;
}

}  // namespace dent
