// SPDX-License-Identifier: MIT
#include "suites/suite_report.h"

#include <fmt/format.h>

#include "report/format.h"
#include "report/html_page.h"
#include "report/page/style.h"
#include "report/pictures/svg.h"
#include "report/tone.h"
#include "system/durable_file.h"

namespace dent {
namespace {

std::string verdict_of(const SuiteRow& row) {
  return row.verdict ? std::string(name(*row.verdict)) : "REFUSED";
}

std::string range(const Interval& interval) {
  return fmt::format("{:.1f} to {:.1f} %", 100 * interval.low, 100 * interval.high);
}

// The reason of what is right and measured repeats the figures.
bool speaks_for_itself(const SuiteRow& row) { return found(row) == Found::right && row.ratio && !row.busy; }

}  // namespace

std::string row_text(const SuiteRow& row) {
  return fmt::format(
      "{:<40} {:>8}  {:<16} {:<13} {}\n", row.project,
      row.ratio ? fmt::format("{:.3f}x", row.ratio->centre) : "-",
      row.ratio ? fmt::format("{:.3f} to {:.3f}", row.ratio->interval.low, row.ratio->interval.high) : "-",
      verdict_of(row), speaks_for_itself(row) ? "" : row.reason);
}

std::string score_text(const Score& score) {
  std::string text = fmt::format("{} projects: {} right, {} wrong, {} not judged\n", score.projects,
                                 score.right, score.wrong, score.not_judged);
  text += fmt::format("{:<18} {:>8}  {:<18} {}\n", "right and faster", "share", "measured",
                      "95 %, as a sample of tasks");
  for (const FastP& fast : score.fast) {
    text += fmt::format("{:<18} {:>6.1f} %  {:<18} {}\n",
                        fast.p == 0 ? "(right)" : fmt::format("than {:g}x", fast.p), 100 * fast.share,
                        range(fast.measured), range(fast.tasks));
  }
  return text;
}

std::string suite_page(const Suite& suite, std::span<const SuiteRow> rows, const Score& score) {
  HtmlPage page(fmt::format("{}: {} projects", suite.folder().filename().string(), score.projects));
  page.markup(
      fmt::format("<h1>{} · {} projects</h1>\n", escape_html(suite.folder().string()), score.projects));
  page.paragraph(fmt::format("{} right, {} wrong, {} not judged", score.right, score.wrong, score.not_judged),
                 "headline");
  page.paragraph("Suite " + suite.id(), "soft");
  page.section("Score");
  page.markup(score_plot(rows));
  page.paragraph(
      "The share of all projects that is right and faster than p. Band: what the 95 % intervals of the "
      "projects allow; "
      "projects that were not judged are in its upper end alone.",
      "key");
  page.begin_table({{"faster than", "number"},
                    {"projects", "number"},
                    {"share", "number"},
                    {"measured", "number"},
                    {"95 %, as a sample of tasks", "number"}});
  for (const FastP& fast : score.fast) {
    page.row({{fast.p == 0 ? "right" : fmt::format("{:g}x", fast.p), "number"},
              {std::to_string(fast.count), "number"},
              {fmt::format("{:.1f} %", 100 * fast.share), "number"},
              {range(fast.measured), "number"},
              {range(fast.tasks), "number"}});
  }
  page.end_table();
  page.section("Projects");
  page.begin_table(
      {{"project"}, {"verdict"}, {"speed-up", "number"}, {"took", "number"}, {"device"}, {"why"}});
  for (const SuiteRow& row : rows) {
    page.row({{row.project},
              {verdict_of(row), name(row.verdict ? tone_of(*row.verdict) : Tone::bad)},
              {row.ratio ? show_ratio(*row.ratio) : "", "number"},
              {row.seconds > 0 ? show_seconds(row.seconds) : "", "number"},
              {row.device},
              {speaks_for_itself(row) ? "" : row.reason}});
  }
  page.end_table();
  return std::move(page).take();
}

SuiteFiles write_suite_report(const Suite& suite, std::span<const SuiteRow> rows, const Score& score) {
  SuiteFiles files{suite.records() / "report.html", {}};
  write_durably(files.page, suite_page(suite, rows, score));
  if (std::string plot = score_plot(rows); !plot.empty()) {
    files.plot = suite.records() / "fast_p.svg";
    write_durably(files.plot, as_svg_file(std::move(plot), kPageStyle));
  }
  return files;
}

}  // namespace dent
