// SPDX-License-Identifier: MIT
#include "report/foreseen.h"

#include <fmt/format.h>

#include "report/format.h"

namespace dent {

std::vector<ForeseenRow> foreseen_rows(const SessionView& session) {
  const auto us = [](double value) { return show_ns(1000 * value); };
  std::vector<ForeseenRow> rows;
  for (const record::Prediction& p : session.predictions) {
    const record::Comparison* measured = session.comparison(p.shape);
    rows.push_back({p.shape, p.headline, p.dominating,
                    fmt::format("{} ({} to {})", us(p.expected_us), us(p.low_us), us(p.high_us)),
                    measured != nullptr && measured->candidate_ns > 0 ? show_ns(measured->candidate_ns) : "",
                    p.changes.empty() ? "" : p.changes.front().change});
  }
  return rows;
}

}  // namespace dent
