// SPDX-License-Identifier: MIT
#include "measure/share.h"

#include <boost/math/special_functions/beta.hpp>

#include "base/error.h"

namespace dent {

Interval share_interval(int successes, int of, double alpha) {
  if (successes < 0 || successes > of || !(alpha > 0 && alpha < 1))
    throw Error(ErrorCode::internal, "a share needs 0 <= successes <= of and 0 < alpha < 1");
  const double others = of - successes;
  return {successes == 0 ? 0 : boost::math::ibeta_inv(successes * 1.0, others + 1, alpha / 2),
          others == 0 ? 1 : boost::math::ibeta_inv(successes + 1.0, others, 1 - alpha / 2)};
}

}  // namespace dent
