// SPDX-License-Identifier: MIT
#include "records/uptime.h"

namespace dent::record {

void fields(Fields& f, Uptime& uptime) {
  f("executor", uptime.executor, "whose machine it is");
  f("from", uptime.from, "UTC");
  f("to", uptime.to, "UTC");
  f("seconds", uptime.seconds, "between them");
  f("usd_per_hour", uptime.usd_per_hour, "of the machine; 0: not known");
  f("begin", uptime.begin, "why it is counted from then on");
  f("end", uptime.end, "why it is counted up to then");
}

}  // namespace dent::record
