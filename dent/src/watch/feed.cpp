// SPDX-License-Identifier: MIT
#include "watch/feed.h"

#include <fmt/format.h>

#include <algorithm>

#include "accounting/budget.h"
#include "base/error.h"
#include "ledger/ledger.h"
#include "ledger/project_lock.h"
#include "project/manifest.h"
#include "report/format.h"
#include "report/history.h"
#include "report/html.h"
#include "report/session_view.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLogLines = 60;

// Describes a record in a few words, for the log.
struct Words {
  std::string operator()(const record::Begin&) const { return "begins"; }
  std::string operator()(const record::Note& note) const { return note.text; }
  std::string operator()(const record::Gate& gate) const {
    return fmt::format("{}: {}", name(gate.verdict), gate.reason);
  }
  std::string operator()(const record::Check& check) const { return check.name + ": " + check.found; }
  std::string operator()(const record::Cheated& cheat) const {
    return std::string(name(cheat.cheat)) + ": " + cheat.evidence;
  }
  std::string operator()(const record::Comparison& c) const {
    return fmt::format("{} {}{}", c.shape, verdict_words(c), c.ratio ? " " + show_ratio(*c.ratio) : "");
  }
  std::string operator()(const record::Iteration& i) const {
    return fmt::format("{:03} {}: {}", i.iteration, i.proposal.proposer, i.proposal.hypothesis.change);
  }
  std::string operator()(const record::Outcome& o) const {
    return fmt::format("{:03} {}", o.iteration, in_words(o.outcome));
  }
  std::string operator()(const record::Standing& standing) const {
    return std::string(name(standing.of)) + ": " + show_ratio(standing.ratio);
  }
  std::string operator()(const record::LoopEnd& end) const { return end.reason; }
  std::string operator()(const record::Verdict& verdict) const {
    return fmt::format("{}: {}", name(verdict.verdict), verdict.reason);
  }
  template <class Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

PagePart log_part(const std::vector<Record>& records) {
  HtmlPage page;
  page.section("Log");
  page.markup("<div class=\"log\">");
  page.begin_table({{"time"}, {"record"}, {"step"}, {""}});
  const std::size_t most = std::min(records.size(), kLogLines);
  for (std::size_t i = 0; i < most; ++i) {  // newest first
    const Record& record = records[records.size() - 1 - i];
    const std::string time = record.time.size() >= 19 ? record.time.substr(11, 8) : record.time;
    page.row(
        {{time}, {std::string(kind_of(record.data))}, {record.step}, {std::visit(Words{}, record.data)}});
  }
  page.end_table();
  page.markup("</div>\n");
  if (records.size() > most)
    page.paragraph(fmt::format("{} older ones are in the ledger.", records.size() - most), "soft");
  return {"log", std::move(page).take()};
}

// The step that has begun last and has not ended.
const Record* current_step(const std::vector<Record>& records) {
  const Record* begun = nullptr;
  for (const Record& record : records) {
    if (record.as<record::Begin>() != nullptr) begun = &record;
    if (const auto* gate = record.as<record::Gate>();
        gate != nullptr && begun != nullptr && begun->as<record::Begin>()->step == gate->step)
      begun = nullptr;
    if (record.as<record::Verdict>() != nullptr) begun = nullptr;
  }
  return begun;
}

std::string budget_words(const BudgetLeft& left) {
  std::vector<std::string> words;
  if (left.seconds) words.push_back(show_seconds(std::max(*left.seconds, 0.0)));
  if (left.device_seconds)
    words.push_back(show_seconds(std::max(*left.device_seconds, 0.0)) + " on the device");
  if (left.iterations) words.push_back(fmt::format("{} iterations", std::max(*left.iterations, 0)));
  if (left.usd) words.push_back(fmt::format("{:.2f} USD", std::max(*left.usd, 0.0)));
  return fmt::format("{}", fmt::join(words, ", "));
}

// What is left of the budget: from the current manifest and the loop's command line.
BudgetLeft budget_left(const fs::path& project, const SessionView& view) {
  Budget budget;
  Rates rates;
  try {
    const Project now = read_project(project);
    budget = now.budget;
    rates = now.rates;
  } catch (const Error&) {  // the manifest is being edited; use the session's values only
  }
  if (view.climb.loop) {
    budget.iterations = view.climb.loop->iterations;
    if (view.climb.loop->minutes) budget.minutes = *view.climb.loop->minutes;
  }
  return left_of(budget, view.cost, rates);
}

// The status line at the top of the page.
PagePart now_part(const fs::path& project, const SessionView& view, const std::vector<Record>& records,
                  bool running) {
  HtmlPage page;
  page.markup("<div class=\"live\"><span id=\"link\">live</span> · ");
  const Record* step = current_step(records);
  const auto done = std::count_if(view.steps.begin(), view.steps.end(),
                                  [](const StepView& s) { return s.gate.has_value(); });
  if (view.end && !running) {
    page.markup(fmt::format("<b class=\"{}\">{}</b>", name(tone_of(view.verdict)), name(view.verdict)));
  } else if (step != nullptr && running) {
    page.markup(fmt::format("<b>{}</b> since <span data-since=\"{}\">{}</span>",
                            escape_html(step->as<record::Begin>()->step), escape_html(step->time),
                            escape_html(step->time)));
  } else {
    page.markup(running ? "<b>between two steps</b>" : "<b class=\"unsure\">not running</b>");
  }
  if (!view.session.plan.empty())
    page.markup(fmt::format(
        " · step {} of {}",
        std::min<std::size_t>(static_cast<std::size_t>(done) + (running ? 1 : 0), view.steps.size()),
        view.steps.size()));
  if (!view.climb.steps.empty())
    page.markup(fmt::format(" · {} tried, {} kept", view.climb.steps.size(), view.cost.kept));
  const std::string left = budget_words(budget_left(project, view));
  if (!left.empty()) page.markup(" · left: " + escape_html(left));
  page.markup("</div>\n");
  return {"now", std::move(page).take()};
}

std::shared_ptr<const Snapshot> unreadable(const std::string& why) {
  HtmlPage page;
  page.markup("<div class=\"live\"><span id=\"link\">live</span></div>\n");
  page.paragraph(why, "unsure");
  return std::make_shared<Snapshot>(Snapshot{"dent watch", {{"now", std::move(page).take()}}});
}

}  // namespace

Feed::Feed(fs::path project, std::string session)
    : project_(std::move(project)), session_(std::move(session)) {
  const SessionStore store(project_);
  if (session_ == "latest" && store.list().empty()) return;  // the first session is still to come
  store.find(session_);
}

Feed::Seen Feed::see() const {
  const SessionStore store(project_);
  if (store.list().empty()) return {};
  const SessionFolder folder = store.find(session_);
  std::error_code none;
  const auto bytes = fs::file_size(folder.ledger(), none);
  const bool newest = store.list().back().id == folder.id;
  return {folder.id, none ? 0 : bytes, newest && is_locked(store.folder())};
}

std::shared_ptr<const Snapshot> Feed::look() {
  const std::lock_guard lock(mutex_);
  try {
    const Seen now = see();
    if (last_ && now == seen_) return last_;
    seen_ = now;
    if (now.session.empty() || now.bytes == 0) return last_ = unreadable("No session yet: dent run");
    const SessionStore store(project_);
    const SessionFolder folder = store.find(now.session);
    const LedgerContent content = read_ledger(folder.ledger());
    SessionView view = view_session(folder.id, content.records);
    read_diffs(view, folder);
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->title = fmt::format("{}: {}", view.session.project,
                                  now.running ? "running" : std::string(name(view.verdict)));
    snapshot->parts.push_back(now_part(project_, view, content.records, now.running));
    for (PagePart& part : report_parts(view, history_before(store, folder.id), now.running))
      snapshot->parts.push_back(std::move(part));
    snapshot->parts.push_back(log_part(content.records));
    return last_ = std::move(snapshot);
  } catch (const std::exception& problem) {
    return last_ = unreadable(in_one_line(problem));
  }
}

}  // namespace dent
