// SPDX-License-Identifier: MIT
#include "report/foreseen.h"

#include "report/format.h"

namespace dent {

std::vector<ForeseenRow> foreseen_rows(const SessionView& session) {
  std::vector<ForeseenRow> rows;
  for (const PredictionView& p : session.predictions) {
    std::string measured;
    for (const ShapeView& shape : session.shapes) {
      if (shape.shape == p.shape && shape.candidate_ns > 0) measured = show_ns(shape.candidate_ns);
    }
    rows.push_back({p.shape, p.headline, p.dominating,
                    show_ns(1000 * p.expected_us) + " (" + show_ns(1000 * p.low_us) + " to " +
                        show_ns(1000 * p.high_us) + ")",
                    measured, p.change});
  }
  return rows;
}

}  // namespace dent
