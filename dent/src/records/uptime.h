// SPDX-License-Identifier: MIT
// A period in which a rented machine was up, charged to the session that used it last. Periods of different
// sessions never overlap.
#pragma once

#include <string>

#include "records/fields.h"

namespace dent {

enum class UptimeFrom {
  started,        // dent started the machine
  found_running,  // another program started it; earlier time is not charged
  goes_on,        // continues the previous recorded period
};
inline constexpr Word<UptimeFrom> kUptimeFromWords[] = {{UptimeFrom::started, "started"},
                                                        {UptimeFrom::found_running, "found running"},
                                                        {UptimeFrom::goes_on, "goes on"}};
constexpr std::span<const Word<UptimeFrom>> words(UptimeFrom) { return kUptimeFromWords; }

enum class UptimeTo {
  still_up,    // the machine is still up; later time is charged later
  taken_away,  // found stopped by somebody else
  stopped,     // dent stopped it because it was idle
};
inline constexpr Word<UptimeTo> kUptimeToWords[] = {
    {UptimeTo::still_up, "still up"}, {UptimeTo::taken_away, "taken away"}, {UptimeTo::stopped, "stopped"}};
constexpr std::span<const Word<UptimeTo>> words(UptimeTo) { return kUptimeToWords; }

}  // namespace dent

namespace dent::record {

struct Uptime {
  static constexpr std::string_view kKind = "uptime";
  std::string executor, from, to;  // UTC
  double seconds = 0;
  double usd_per_hour = 0;
  UptimeFrom begin = UptimeFrom::started;
  UptimeTo end = UptimeTo::still_up;
  bool operator==(const Uptime&) const = default;
};

void fields(Fields& f, Uptime& uptime);

}  // namespace dent::record
