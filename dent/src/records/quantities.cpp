// SPDX-License-Identifier: MIT
#include "records/quantities.h"

#include <cmath>

#include "base/error.h"

namespace dent {
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
    throw Error(ErrorCode::internal,
                "quantity " + std::string(key) + " is " + std::string(name(reading.presence)));
  }
  return reading.value;
}

}  // namespace dent
