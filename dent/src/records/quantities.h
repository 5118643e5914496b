// SPDX-License-Identifier: MIT
// What is known about a run of a kernel: numbers by name, where a number that is not there says why. Zero is
// a measurement; a counter that did not come back, one that came back as NaN and one that means nothing for
// this kernel (the L1 hit rate of a kernel that loads by TMA) are three other things.
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
  double value = 0;   // when there is one
  std::string why{};  // when there is none, or how it came about
  bool operator==(const Reading&) const = default;
};

class Quantities {
 public:
  void set(const std::string& name, double value);  // NaN and infinities become not_a_number
  void put(const std::string& name, Reading reading) { readings_[name] = std::move(reading); }
  void not_applicable(const std::string& name, std::string why);
  Reading at(std::string_view name) const;  // missing when nobody has set it
  bool has(std::string_view name) const { return at(name).presence == Presence::value; }
  double operator[](std::string_view name) const;  // throws Error when it has no value
  const std::map<std::string, Reading, std::less<>>& all() const { return readings_; }
  std::map<std::string, Reading, std::less<>>& all() { return readings_; }
  bool operator==(const Quantities&) const = default;

 private:
  std::map<std::string, Reading, std::less<>> readings_;
};

}  // namespace dent
