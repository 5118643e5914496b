// SPDX-License-Identifier: MIT
#include "records/fields.h"

namespace dent {

void fields(Fields& f, Estimate& ratio) {
  f("centre", ratio.centre, "the estimate");
  f("low", ratio.interval.low, "lower end of its interval");
  f("high", ratio.interval.high, "upper end of its interval");
}

}  // namespace dent
