// SPDX-License-Identifier: MIT
#include "records/uptime.h"

namespace dent::record {

void fields(Fields& f, Uptime& uptime) {
  f("executor", uptime.executor, "executor that the machine belongs to");
  f("from", uptime.from, "UTC");
  f("to", uptime.to, "UTC");
  f("seconds", uptime.seconds, "time between them");
  f("usd_per_hour", uptime.usd_per_hour, "price of the machine; 0: not known");
  f("begin", uptime.begin, "why counting begins then");
  f("end", uptime.end, "why counting ends then");
}

}  // namespace dent::record
