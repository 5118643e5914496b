// SPDX-License-Identifier: MIT
// How long a machine has been up, as far as dents have seen it, until it is booked to a session. In a file,
// so that it outlives every one of them; held by one at a time.
//
// Nobody may have looked for a while: then what the machine did meanwhile is not known and not counted.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "records/uptime.h"

namespace dent {

class UptimeBook {
 public:
  using Time = std::chrono::system_clock::time_point;
  UptimeBook(std::filesystem::path file, std::string executor)
      : file_(std::move(file)), executor_(std::move(executor)) {}

  void started(Time now) const;
  // Nothing new where it was up before. True when it is counted from now on: nobody knew that it ran.
  bool found_up(Time now) const;
  // Somebody uses it: it is up as long as nobody finds it down.
  void in_use(Time now) const;
  // It was up until `last`, where that is known, else until it was seen.
  void found_down(std::optional<Time> last) const;
  void stopped(Time now) const;

  // All that is not booked yet, one stretch after the other. What `take` got is booked once it has returned:
  // a stretch that is taken twice, by who was killed in between, begins at the same time twice.
  void book(Time now, const std::function<void(const record::Uptime&)>& take) const;

 private:
  std::filesystem::path file_;
  std::string executor_;
};

}  // namespace dent
