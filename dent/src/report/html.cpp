// SPDX-License-Identifier: MIT
#include "report/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/clock_words.h"
#include "report/diagnosis_view.h"
#include "report/foreseen.h"
#include "report/format.h"
#include "report/html_page.h"
#include "report/pictures/plots.h"
#include "report/proposal_tree.h"
#include "report/rates.h"
#include "report/record_rows.h"

namespace dent {
namespace {

std::string took(const SessionView& s) {
  if (!s.end) return {};
  return ", took " + show_seconds(s.end->elapsed_s) +
         (s.end->own_s > 0 ? ", " + show_seconds(s.end->own_s) + " of it in dent itself" : "");
}

void verdict(HtmlPage& page, const SessionView& s, bool running) {
  page.markup(fmt::format("<h1>{} · {} against {} on {}</h1>\n", escape_html(s.session.project),
                          escape_html(s.session.candidate), escape_html(s.session.baseline),
                          escape_html(s.device())));
  page.markup(fmt::format("<p class=\"verdict {}\">{}</p>\n", name(tone_of(s.verdict)),
                          running && !s.end ? "RUNNING" : name(s.verdict)));
  if (s.mean())
    page.paragraph(fmt::format("{}, {} with its 95 % interval", show_ratio(*s.mean()), s.what_the_mean_is()),
                   "headline");
  if (!running || s.end) page.paragraph(s.reason);
  for (const auto& cheat : s.cheats) {
    const std::string at = cheat.shape.empty() ? cheat.step : cheat.step + ", " + cheat.shape;
    page.markup(fmt::format(
        "<div class=\"cheat\"><strong class=\"bad\">CHEAT: {}</strong><br>{} <span class=\"soft\">({})"
        "</span></div>\n",
        name(cheat.cheat), escape_html(cheat.evidence), escape_html(at)));
  }
  if (!s.next.empty() && (!running || s.end)) page.paragraph("Next: " + s.next);
  page.paragraph(fmt::format("Session {}, started {}{}; {} records.", s.id, s.started, took(s), s.records),
                 "soft");
}

void speed(HtmlPage& page, const SessionView& s) {
  if (s.comparisons.empty()) return;
  page.section("Speed");
  page.markup(ratios_plot(s));
  page.begin_table({{"shape"},
                    {"baseline", "number"},
                    {"candidate", "number"},
                    {"speed-up", "number"},
                    {"verdict"},
                    {"pairs", "number"},
                    {"set aside", "number"},
                    {"stopped by"},
                    {"bytes", "number"},
                    {"flops", "number"},
                    {"share of peak", "number"}});
  for (const record::Comparison& c : s.comparisons) {
    page.row({{c.shape},
              {show_ns(c.baseline_ns), "number"},
              {show_ns(c.candidate_ns), "number"},
              {c.ratio ? show_ratio(*c.ratio) : "too few pairs", "number"},
              {verdict_words(c), name(tone_of(c.verdict))},
              {std::to_string(c.pairs), "number"},
              {std::to_string(c.pairs_aside), "number"},
              {std::string(name(c.stop))},
              {show_bandwidth(c), "number"},
              {show_flop_rate(c), "number"},
              {show_share_of_floor(c), "number"}});
  }
  page.end_table();
  if (const std::string weights = show_weights(s.comparisons); !weights.empty())
    page.paragraph("Weights in the mean: " + weights + ".", "soft");
  for (const record::Comparison& c : s.comparisons) {
    if (c.clock) page.paragraph("Clock, " + c.shape + ": " + clock_in_words(*c.clock), "soft");
  }
  page.paragraph(
      "Speed-up is baseline time / candidate time, the median over pairs measured in random order, "
      "with a 95 % interval that allows for repeated looks at the data. The band marks ratios that count as "
      "equal.",
      "key");
}

void climb(HtmlPage& page, const SessionView& s) {
  if (!s.climb.loop) return;
  page.section("Climb");
  page.markup(climb_plot(s.climb));
  page.paragraph(
      "Speed over the baseline. Diamonds: kept. Rings: dropped, at the speed that was measured for them, "
      "each with its "
      "95 % interval. Between two measurements against the baseline the gains over the incumbent are "
      "multiplied.",
      "key");
  page.markup(proposal_tree(s.climb));
  if (!s.climb.gains.empty()) {
    page.subsection("The winner against the start, built again from a clean checkout");
    page.begin_table({{"shape"}, {"verdict"}, {"speed-up", "number"}});
    for (const auto& gain : s.climb.gains) {
      page.row({{gain.shape},
                {verdict_words(gain), name(tone_of(gain.verdict))},
                {gain.ratio ? show_ratio(*gain.ratio) : "", "number"}});
    }
    page.end_table();
  }
  page.paragraph(
      fmt::format(
          "Ended: {}. Kept changes are commits on {}; every candidate's patch is in artifacts/patches.",
          s.climb.end ? s.climb.end->reason : "not yet", s.climb.loop->branch),
      "soft");
}

void cost_row(HtmlPage& page, const std::string& id, const Cost& cost, const Money& money) {
  const auto usd = [](double value) { return value > 0 ? fmt::format("{:.2f}", value) : std::string(); };
  page.row({{id},
            {show_seconds(cost.wall_s), "number"},
            {show_seconds(cost.build_s), "number"},
            {show_seconds(cost.device_s), "number"},
            {cost.iterations > 0 ? fmt::format("{} of {}", cost.kept, cost.iterations) : "", "number"},
            {usd(money.device), "number"},
            {usd(money.agent), "number"},
            {usd(money.engineer), "number"},
            {usd(money.total()), "number"}});
}

void cost(HtmlPage& page, const SessionView& s, std::span<const HistoryEntry> history) {
  page.section("Cost");
  page.begin_table({{"session"},
                    {"time", "number"},
                    {"building", "number"},
                    {"on the device", "number"},
                    {"kept", "number"},
                    {"device, USD", "number"},
                    {"agent, USD", "number"},
                    {"engineer, USD", "number"},
                    {"all, USD", "number"}});
  cost_row(page, s.id + " (this one)", s.cost, s.money);
  for (const auto& entry : history) {
    if (entry.unreadable.empty()) cost_row(page, entry.id, entry.cost, entry.money);
  }
  page.end_table();
  for (const record::Uptime& uptime : s.uptimes) page.paragraph(show_uptime(uptime), "soft");
}

void samples(HtmlPage& page, const SessionView& s) {
  if (s.samples.empty()) return;
  page.section("Samples");
  page.paragraph(
      "Rings: baseline. Squares: candidate. Dashed: medians. Interruptions are drawn at the upper edge.",
      "key");
  for (const record::Samples& taken : s.samples) {
    const record::Comparison* comparison = s.comparison(taken.shape);
    page.subsection(taken.shape);
    page.markup(samples_plot(taken, comparison));
    if (comparison != nullptr) page.paragraph(comparison->reason, "key");
  }
}

std::string time_bar(const StepView& step) {
  if (!step.gate || !(step.time_box_s > 0)) return {};
  const double share = step.gate->elapsed_s / step.time_box_s;
  return fmt::format("<div class=\"bar\"><i{} style=\"width:{:.0f}%\"></i></div>",
                     share > 1 ? " class=\"over\"" : "", 100 * std::min(share, 1.0));
}

std::string_view standing_of(const StepView& step, bool running) {
  if (step.gate || !running) return step.verdict();
  return step.begun ? "running" : "to come";
}

void gates(HtmlPage& page, const SessionView& s, bool running) {
  page.section("Gates");
  page.begin_table({{"gate"}, {"verdict"}, {"took", "number"}, {"planned", "number"}, {""}, {"why"}});
  for (const StepView& step : s.steps) {
    page.row({{step.step},
              {std::string(standing_of(step, running)), name(step.tone())},
              {step.gate ? show_seconds(step.gate->elapsed_s) : "", "number"},
              {step.time_box_s > 0 ? show_seconds(step.time_box_s) : "", "number"},
              {time_bar(step), {}, true},
              {running && !step.gate ? "" : std::string(step.reason())}});
  }
  page.end_table();
  for (const StepView& step : s.steps) {
    if (step.gate && !step.gate->last_words.empty())
      page.details("last words of " + step.step, step.gate->last_words);
  }
}

void plan(HtmlPage& page, const SessionView& s) {
  if (s.session.plan.empty()) return;
  page.subsection("Plan, recorded before anything ran");
  page.begin_table({{"gate"}, {"time box", "number"}, {"threshold"}, {"stops"}});
  for (const record::PlannedStep& step : s.session.plan) {
    page.row({{step.step}, {show_seconds(step.time_box_s), "number"}, {step.threshold}, {step.stop_rule}});
  }
  page.end_table();
}

void correctness(HtmlPage& page, const SessionView& s) {
  if (s.correctness.empty()) return;
  page.section("Correctness");
  page.begin_table({{"shape"},
                    {"verdict"},
                    {"worst error", "number"},
                    {"its bound", "number"},
                    {"bad", "number"},
                    {"of", "number"},
                    {"seeds", "number"},
                    {"first bad"}});
  for (const auto& c : s.correctness) {
    page.row({{c.shape},
              {std::string(name(c.verdict)), name(tone_of(c.verdict))},
              {show_number(c.worst_error()), "number"},
              {show_number(c.bound), "number"},
              {std::to_string(c.bad), "number"},
              {std::to_string(c.elements), "number"},
              {std::to_string(c.seeds), "number"},
              {show_first_bad(c)}});
  }
  page.end_table();
}

void checks(HtmlPage& page, const SessionView& s) {
  if (s.checks.empty()) return;
  page.section("Checks");
  page.begin_table({{"check"}, {"verdict"}, {"found"}, {"fix"}});
  for (const auto& check : s.checks) {
    page.row({{check.name},
              {std::string(name(check.verdict)), name(tone_of(check.verdict))},
              {check.found},
              {check.fix}});
  }
  page.end_table();
}

void roofline(HtmlPage& page, const SessionView& s) {
  if (s.comparisons.empty() && s.diagnoses.empty()) return;
  page.section("Roofline");
  const std::string plot = roofline_plot(s);
  if (plot.empty()) {
    page.paragraph(s.roofline ? "Not drawn: the operator's FLOPs and bytes are not known."
                              : "Not drawn: the device's peak is not known.",
                   "soft");
    return;
  }
  page.markup(plot);
  page.paragraph(
      fmt::format("{}; peak figures: {}. Rings: baseline. Squares: candidate.{}", s.roofline->device,
                  name(s.roofline->source),
                  s.diagnoses.empty() ? "" : " Diamonds: the profiled kernel, by the bytes that it moved."),
      "key");
}

void diagnoses(HtmlPage& page, const SessionView& s) {
  for (const auto& d : s.diagnoses) {
    page.section("Diagnosis of " + d.shape);
    page.paragraph(headline(d), "headline");
    if (!d.why.empty()) page.paragraph("Degraded: " + d.why, "unsure");
    page.begin_table({{"what"}, {"value"}});
    const auto row = [&page](const char* name, const std::string& words) {
      if (!words.empty()) page.row({{name}, {words}});
    };
    row("decided by", fmt::format("{}", fmt::join(d.finding.decided, "; ")));
    row("runner-up", runner_up(d));
    for (const auto& other : d.finding.overturned) row("would be overturned if", other);
    row("look at", d.finding.advice);
    row("kernel", profiled_kernel(d));
    for (const Launch& launch : d.launches) row("launch", launch_text(launch));
    row("by",
        fmt::format("{} in {}, {} of it in the profiler{}", d.tool, show_seconds(d.elapsed_s),
                    show_seconds(d.tool_s), d.report.empty() ? "" : "; raw report: artifacts/" + d.report));
    for (const auto& note : d.notes) row("note", note);
    page.end_table();
    if (!d.targets.empty()) {
      page.subsection("Metrics and their targets");
      page.begin_table({{"metric"}, {"value", "number"}, {"target"}, {"met"}});
      for (const auto& m : d.targets) {
        page.row({{m.label},
                  {value_text(m), "number"},
                  {m.target},
                  {met_text(m), m.good ? (*m.good ? "good" : "bad") : "soft"}});
      }
      page.end_table();
    }
    if (!d.patterns.empty()) {
      page.subsection("Patterns that apply, the most promising first");
      page.begin_table({{"pattern"}, {"expected", "number"}, {"evidence here"}, {"fix"}, {"why"}});
      for (const auto& p : d.patterns) {
        page.row({{p.pattern},
                  {show_factor(p.expected_gain), "number"},
                  {evidence_text(p.evidence)},
                  {p.fix},
                  {p.why}});
      }
      page.end_table();
    }
  }
}

void foreseen(HtmlPage& page, const SessionView& s) {
  const auto rows = foreseen_rows(s);
  if (rows.empty()) return;
  page.section("Prediction");
  page.paragraph("Computed from the compiler's report and the launch in the manifest, before anything ran.",
                 "soft");
  const auto& head = kForeseenHead;
  page.begin_table({{head[0]}, {head[1]}, {head[2]}, {head[3], "number"}, {head[4], "number"}, {head[5]}});
  for (const auto& row : rows)
    page.row({{row[0]}, {row[1]}, {row[2]}, {row[3], "number"}, {row[4], "number"}, {row[5]}});
  page.end_table();
}

void build(HtmlPage& page, const SessionView& s) {
  if (!s.build) return;
  page.section("Build");
  page.begin_table({{"what"}, {"value"}});
  for (const auto& [key, value] : record_rows(*s.build)) page.row({{key}, {value}});
  page.end_table();
}

void environment(HtmlPage& page, const SessionView& s) {
  page.section("Environment");
  if (s.environment) {
    page.begin_table({{"what"}, {"value"}});
    for (const auto& [key, value] : record_rows(*s.environment)) page.row({{key}, {value}});
    page.end_table();
  }
  if (!s.session.manifest.empty()) page.details("manifest in effect", s.session.manifest);
}

void earlier(HtmlPage& page, std::span<const HistoryEntry> history) {
  page.section("Earlier sessions");
  if (history.empty()) return page.paragraph("This is the first.", "soft");
  page.begin_table({{"session"}, {"verdict"}, {"speed-up", "number"}, {"candidate"}, {"device"}, {"commit"}});
  for (const auto& entry : history) {
    page.row(
        {{entry.id},
         {entry.unreadable.empty() ? std::string(name(entry.verdict)) : "unreadable: " + entry.unreadable,
          name(entry.unreadable.empty() ? tone_of(entry.verdict) : Tone::unsure)},
         {entry.mean ? show_ratio(*entry.mean) : "", "number"},
         {entry.candidate},
         {entry.device},
         {entry.commit.substr(0, 10)}});
  }
  page.end_table();
}

}  // namespace

std::vector<PagePart> report_parts(const SessionView& session, std::span<const HistoryEntry> history,
                                   bool running) {
  std::vector<PagePart> parts;
  const auto add = [&parts](const char* id, const auto& write) {
    HtmlPage page;
    write(page);
    parts.push_back({id, std::move(page).take()});
  };
  add("verdict", [&](HtmlPage& page) { verdict(page, session, running); });
  add("climb", [&](HtmlPage& page) { climb(page, session); });
  add("speed", [&](HtmlPage& page) { speed(page, session); });
  add("diagnosis", [&](HtmlPage& page) { diagnoses(page, session); });
  add("samples", [&](HtmlPage& page) { samples(page, session); });
  add("gates", [&](HtmlPage& page) { gates(page, session, running); });
  add("plan", [&](HtmlPage& page) { plan(page, session); });
  add("correctness", [&](HtmlPage& page) { correctness(page, session); });
  add("roofline", [&](HtmlPage& page) { roofline(page, session); });
  add("checks", [&](HtmlPage& page) { checks(page, session); });
  add("foreseen", [&](HtmlPage& page) { foreseen(page, session); });
  add("build", [&](HtmlPage& page) { build(page, session); });
  add("cost", [&](HtmlPage& page) { cost(page, session, history); });
  add("environment", [&](HtmlPage& page) { environment(page, session); });
  add("earlier", [&](HtmlPage& page) { earlier(page, history); });
  add("notes", [&](HtmlPage& page) {
    if (!session.notes.empty()) page.section("Notes");
    for (const auto& note : session.notes) page.paragraph(note);
  });
  return parts;
}

std::string html_report(const SessionView& session, std::span<const HistoryEntry> history) {
  HtmlPage page(fmt::format("{}: {}", session.session.project, name(session.verdict)));
  for (const PagePart& part : report_parts(session, history)) page.part(part);
  return std::move(page).take();
}

}  // namespace dent
