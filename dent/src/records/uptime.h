// SPDX-License-Identifier: MIT
// A stretch of time for which a machine that costs money was up, booked to the session that used it last. No
// stretch is booked to two sessions.
#pragma once

#include <string>

#include "records/fields.h"

namespace dent {

enum class UptimeFrom {
  started,        // dent has started the machine
  found_running,  // somebody else has; what it ran before is not ours
  goes_on,        // the stretch before this one is on record already
};
inline constexpr Word<UptimeFrom> kUptimeFromWords[] = {{UptimeFrom::started, "started"},
                                                        {UptimeFrom::found_running, "found running"},
                                                        {UptimeFrom::goes_on, "goes on"}};
constexpr std::span<const Word<UptimeFrom>> words(UptimeFrom) { return kUptimeFromWords; }

enum class UptimeTo {
  still_up,    // it runs on; what comes is booked later
  taken_away,  // found down when somebody looked
  stopped,     // by dent, when it was idle
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
