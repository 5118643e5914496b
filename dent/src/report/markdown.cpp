// SPDX-License-Identifier: MIT
#include "report/markdown.h"

#include <fmt/format.h>

#include <iterator>
#include <vector>

#include "report/clock_words.h"
#include "report/diagnosis_view.h"
#include "report/foreseen.h"
#include "report/format.h"
#include "report/rates.h"
#include "report/record_rows.h"

namespace dent {
namespace {

class Page {
 public:
  void line(const std::string& text = {}) { text_ += text + '\n'; }
  void section(const std::string& title) { text_ += "\n## " + title + "\n\n"; }
  void row(const std::vector<std::string>& cells) {
    for (const auto& cell : cells) text_ += "| " + escape_markdown_cell(cell) + " ";
    text_ += "|\n";
  }
  void head(const std::vector<std::string>& cells) {
    row(cells);
    for (std::size_t i = 0; i < cells.size(); ++i) text_ += "| --- ";
    text_ += "|\n";
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void verdict(Page& page, const SessionView& s) {
  page.line(fmt::format("# {}: {}", escape_markdown_cell(s.session.project), name(s.verdict)));
  page.line();
  page.line(escape_markdown_cell(s.reason));
  if (s.mean())
    page.line(fmt::format("\n**{}** {}, 95 % interval.", show_ratio(*s.mean()), s.what_the_mean_is()));
  for (const auto& cheat : s.cheats) {
    page.line(fmt::format("\n**CHEAT: {}** ({})", name(cheat.cheat), escape_markdown_cell(cheat.evidence)));
  }
  if (!s.next.empty()) page.line("\nNext: " + escape_markdown_cell(s.next));
  page.line(fmt::format("\nSession {}, started {}, `{}` against `{}` on {}.", s.id, s.started,
                        s.session.candidate, s.session.baseline, s.device()));
}

void speed(Page& page, const SessionView& s) {
  if (s.comparisons.empty()) return;
  page.section("Speed");
  page.head({"shape", "baseline", "candidate", "speed-up (95 % interval)", "verdict", "pairs", "set aside",
             "stopped by", "bytes", "flops", "share of peak"});
  for (const record::Comparison& c : s.comparisons) {
    page.row({c.shape, show_ns(c.baseline_ns), show_ns(c.candidate_ns),
              c.ratio ? show_ratio(*c.ratio) : "too few pairs", verdict_words(c), std::to_string(c.pairs),
              std::to_string(c.pairs_aside), std::string(name(c.stop)), show_bandwidth(c), show_flop_rate(c),
              show_share_of_floor(c)});
  }
  if (const std::string weights = show_weights(s.comparisons); !weights.empty())
    page.line("\nWeights in the mean: " + escape_markdown_cell(weights) + ".");
  for (const record::Comparison& c : s.comparisons) {
    if (!c.clock) continue;
    page.line(fmt::format("{}- clock, {}: {}", &c == &s.comparisons.front() ? "\n" : "",
                          escape_markdown_cell(c.shape), escape_markdown_cell(clock_in_words(*c.clock))));
  }
}

void climb(Page& page, const SessionView& s) {
  if (!s.climb.loop) return;
  page.section("Climb");
  page.head({"", "outcome", "what held it back", "change", "expected", "gain", "then", "why"});
  for (const ClimbStep& step : s.climb.steps) {
    const Hypothesis& hypothesis = step.iteration.proposal.hypothesis;
    page.row({std::to_string(step.iteration.iteration), std::string(step.ending()), hypothesis.bottleneck,
              hypothesis.change, hypothesis.expected, step.gain() ? show_ratio(*step.gain()) : "",
              show_factor(step.speedup), step.why()});
  }
  for (const auto& gain : s.climb.gains) {
    page.line(fmt::format("{}- winner against start, {}: {} {}", &gain == &s.climb.gains.front() ? "\n" : "",
                          escape_markdown_cell(gain.shape), verdict_words(gain),
                          gain.ratio ? show_ratio(*gain.ratio) : ""));
  }
  page.line(fmt::format("\nEnded: {}. Branch `{}`.",
                        escape_markdown_cell(s.climb.end ? s.climb.end->reason : "not yet"),
                        s.climb.loop->branch));
}

void cost(Page& page, const SessionView& s, std::span<const HistoryEntry> history) {
  page.section("Cost");
  page.head({"session", "time", "building", "on the device", "kept", "USD"});
  const auto row = [&](const std::string& id, const Cost& cost, const Money& money) {
    page.row({id, show_seconds(cost.wall_s), show_seconds(cost.build_s), show_seconds(cost.device_s),
              cost.iterations > 0 ? fmt::format("{} of {}", cost.kept, cost.iterations) : "",
              money.total() > 0 ? fmt::format("{:.2f}", money.total()) : ""});
  };
  row(s.id + " (this one)", s.cost, s.money);
  for (const auto& entry : history) {
    if (entry.unreadable.empty()) row(entry.id, entry.cost, entry.money);
  }
  for (const record::Uptime& uptime : s.uptimes) page.line("\n" + escape_markdown_cell(show_uptime(uptime)));
}

void gates(Page& page, const SessionView& s) {
  page.section("Gates");
  page.head({"gate", "verdict", "took", "planned", "why"});
  for (const StepView& step : s.steps) {
    page.row({step.step, std::string(step.verdict()), step.gate ? show_seconds(step.gate->elapsed_s) : "",
              step.time_box_s > 0 ? show_seconds(step.time_box_s) : "", std::string(step.reason())});
  }
  for (const auto& check : s.checks) {
    if (check.verdict == StepVerdict::fail) {
      page.line(fmt::format("\n- **{}**: {}; fix: {}", escape_markdown_cell(check.name),
                            escape_markdown_cell(check.found), escape_markdown_cell(check.fix)));
    }
  }
}

void correctness(Page& page, const SessionView& s) {
  if (s.correctness.empty()) return;
  page.section("Correctness");
  page.head({"shape", "verdict", "worst error", "its bound", "bad elements", "of", "seeds", "first bad"});
  for (const auto& c : s.correctness) {
    page.row({c.shape, std::string(name(c.verdict)), show_number(c.worst_error()), show_number(c.bound),
              std::to_string(c.bad), std::to_string(c.elements), std::to_string(c.seeds), show_first_bad(c)});
  }
}

void diagnoses(Page& page, const SessionView& s) {
  for (const auto& d : s.diagnoses) {
    page.section("Diagnosis of " + escape_markdown_cell(d.shape));
    page.line("**" + escape_markdown_cell(headline(d)) + "**\n");
    const auto point = [&page](const char* name, const std::string& words) {
      if (!words.empty()) page.line(fmt::format("- {}: {}", name, escape_markdown_cell(words)));
    };
    point("decided by", fmt::format("{}", fmt::join(d.finding.decided, "; ")));
    point("runner-up", runner_up(d));
    for (const auto& other : d.finding.overturned) point("would be overturned if", other);
    point("look at", d.finding.advice);
    point("kernel", profiled_kernel(d));
    point("by", fmt::format("{} in {}{}", d.tool, show_seconds(d.elapsed_s),
                            d.report.empty() ? "" : "; raw report: artifacts/" + d.report));
    point("DEGRADED", d.why);
    for (const auto& note : d.notes) point("note", note);
    if (!d.targets.empty()) {
      page.line();
      page.head({"metric", "value", "target", "met"});
    }
    for (const auto& row : d.targets) {
      page.row({row.label, value_text(row), row.target, met_text(row)});
    }
    if (!d.patterns.empty()) {
      page.line();
      page.head({"pattern", "expected", "evidence here", "fix", "why"});
    }
    for (const auto& row : d.patterns) {
      page.row({row.pattern, show_factor(row.expected_gain), evidence_text(row.evidence), row.fix, row.why});
    }
  }
}

void foreseen(Page& page, const SessionView& s) {
  const auto rows = foreseen_rows(s);
  if (rows.empty()) return;
  page.section("Prediction");
  page.head({kForeseenHead.begin(), kForeseenHead.end()});
  for (const auto& row : rows) page.row({row.begin(), row.end()});
}

void environment(Page& page, const SessionView& s) {
  if (!s.environment) return;
  page.section("Environment");
  page.head({"what", "value"});
  for (const auto& [key, value] : record_rows(*s.environment)) page.row({key, value});
}

void earlier(Page& page, std::span<const HistoryEntry> history) {
  if (history.empty()) return;
  page.section("Earlier sessions");
  page.head({"session", "verdict", "speed-up", "candidate", "device", "commit"});
  for (const auto& entry : history) {
    page.row({entry.id,
              entry.unreadable.empty() ? std::string(name(entry.verdict)) : "unreadable: " + entry.unreadable,
              entry.mean ? show_ratio(*entry.mean) : "", entry.candidate, entry.device,
              entry.commit.substr(0, 10)});
  }
}

}  // namespace

std::string markdown_report(const SessionView& session, std::span<const HistoryEntry> history) {
  Page page;
  verdict(page, session);
  climb(page, session);
  speed(page, session);
  diagnoses(page, session);
  gates(page, session);
  correctness(page, session);
  cost(page, session, history);
  foreseen(page, session);
  environment(page, session);
  earlier(page, history);
  if (!session.notes.empty()) page.section("Notes");
  for (const auto& note : session.notes) page.line("- " + escape_markdown_cell(note));
  return page.take();
}

}  // namespace dent
