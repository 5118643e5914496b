// SPDX-License-Identifier: MIT
// Quantities of a kernel's run, by name. A missing number has a reason: zero is a measurement, and differs
// from a counter that the profiler did not return, one that it returned as NaN, and one that has no meaning
// for this kernel (such as the L1 hit rate of a kernel that loads by TMA).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/words.h"

namespace dent {

enum class Presence { value, missing, not_a_number, not_applicable };
inline constexpr Word<Presence> kPresenceWords[] = {{Presence::value, "value"},
                                                    {Presence::missing, "missing"},
                                                    {Presence::not_a_number, "not a number"},
                                                    {Presence::not_applicable, "not applicable"}};
constexpr std::span<const Word<Presence>> words(Presence) { return kPresenceWords; }

struct Reading {
  Presence presence = Presence::missing;
  double value = 0;   // if `presence` is value
  std::string why{};  // why there is none, or how it was computed
  bool operator==(const Reading&) const = default;
};

class Quantities {
 public:
  void set(const std::string& name, double value);  // NaN and infinities become not_a_number
  void put(const std::string& name, Reading reading) { readings_[name] = std::move(reading); }
  void not_applicable(const std::string& name, std::string why);
  Reading at(std::string_view name) const;  // Presence::missing if never set
  bool has(std::string_view name) const { return at(name).presence == Presence::value; }
  double operator[](std::string_view name) const;  // throws Error if there is no value
  const std::map<std::string, Reading, std::less<>>& all() const { return readings_; }
  std::map<std::string, Reading, std::less<>>& all() { return readings_; }
  bool operator==(const Quantities&) const = default;

 private:
  std::map<std::string, Reading, std::less<>> readings_;
};

}  // namespace dent
