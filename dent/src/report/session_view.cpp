// SPDX-License-Identifier: MIT
#include "report/session_view.h"

#include <algorithm>
#include <utility>

#include "accounting/step_name.h"
#include "base/text.h"
#include "ledger/ledger.h"
#include "report/last_word.h"

namespace dent {
namespace {

// Sorts records of each kind into a view.
class Sorter {
 public:
  explicit Sorter(SessionView& view) : view_(view) {}

  void operator()(const record::Session& session) {
    view_.session = session;
    for (const record::PlannedStep& planned : session.plan)
      view_.steps.push_back({.step = planned.step, .time_box_s = planned.time_box_s});
  }
  void operator()(const record::Environment& environment) { view_.environment = environment; }
  void operator()(const record::Note& note) { view_.notes.push_back(note.text); }
  void operator()(const record::Begin& begin) {
    StepView& step = step_called(begin.step);
    step.begun = true;
    step.gate.reset();
    view_.end.reset();  // a session that continues after its verdict has none
  }
  void operator()(const record::Check& check) {
    last_word(view_.checks, check, &record::Check::step, &record::Check::name);
  }
  void operator()(const record::Build& build) { view_.build = build; }
  void operator()(const record::Prediction& prediction) {
    last_word(view_.predictions, prediction, &record::Prediction::shape);
  }
  void operator()(const record::Correctness& correctness) {
    if (!correctness.held_out) last_word(view_.correctness, correctness, &record::Correctness::shape);
  }
  void operator()(const record::Samples& samples) {
    if (samples.against == Against::baseline) last_word(view_.samples, samples, &record::Samples::shape);
  }
  void operator()(const record::Comparison& comparison) {
    if (comparison.against == Against::baseline)
      last_word(view_.comparisons, comparison, &record::Comparison::shape);
  }
  void operator()(const record::Summary& summary) { view_.summary = summary; }
  void operator()(const record::Roofline& roofline) { view_.roofline = roofline; }
  void operator()(const record::Diagnosis& diagnosis) {
    last_word(view_.diagnoses, diagnosis, &record::Diagnosis::shape);
  }
  void operator()(const record::Cheated& cheat) { view_.cheats.push_back(cheat); }
  void operator()(const record::Gate& gate) {
    StepView& step = step_called(gate.step);
    step.begun = true;
    step.time_box_s = gate.time_box_s;
    step.gate = gate;
  }
  void operator()(const record::Uptime& uptime) { view_.uptimes.push_back(uptime); }
  void operator()(const record::Verdict& verdict) { view_.end = verdict; }

  // Records of a loop are handled by climb.h.
  void operator()(const record::Loop&) {}
  void operator()(const record::Iteration&) {}
  void operator()(const record::Outcome&) {}
  void operator()(const record::Standing&) {}
  void operator()(const record::LoopEnd&) {}
  // Kinds that reports do not show.
  void operator()(const record::PatternTried&) {}
  void operator()(const record::BudgetMark&) {}
  void operator()(const record::Job&) {}
  void operator()(const record::Unknown&) {}

 private:
  StepView& step_called(const std::string& name) {
    const auto found = std::find_if(view_.steps.begin(), view_.steps.end(),
                                    [&name](const StepView& step) { return step.step == name; });
    return found != view_.steps.end() ? *found : view_.steps.emplace_back(StepView{.step = name});
  }

  SessionView& view_;
};

// Fills in each shape's least possible time if the device's peaks are known and the record lacks it.
void fill_in_floors(SessionView& view) {
  if (!view.roofline || !(view.roofline->peak_gflops > 0) || !(view.roofline->peak_gbs > 0)) return;
  for (record::Comparison& c : view.comparisons) {
    if (c.floor_ns || (!c.flops && !c.bytes)) continue;
    c.floor_ns = std::max(c.flops.value_or(0) / view.roofline->peak_gflops,
                          c.bytes.value_or(0) / view.roofline->peak_gbs);
  }
}

}  // namespace

std::string_view StepView::verdict() const {
  return gate ? name(gate->verdict) : begun ? "interrupted" : "not reached";
}

std::string_view StepView::reason() const {
  if (gate) return gate->reason;
  return begun ? "began and did not end" : "";
}

Tone StepView::tone() const { return gate ? tone_of(gate->verdict) : Tone::unsure; }

std::string_view SessionView::what_the_mean_is() const {
  return summary && summary->weighted ? "weighted geometric mean over shapes" : "geometric mean over shapes";
}

std::string SessionView::device() const {
  return session.device_name.empty() ? std::string(name(session.device)) : session.device_name;
}

const record::Comparison* SessionView::comparison(const std::string& shape) const {
  const auto found = std::find_if(comparisons.begin(), comparisons.end(),
                                  [&shape](const record::Comparison& c) { return c.shape == shape; });
  return found == comparisons.end() ? nullptr : &*found;
}

SessionView view_session(const std::string& id, std::span<const Record> records) {
  SessionView view;
  view.id = id;
  view.records = records.size();
  if (!records.empty()) view.started = records.front().time;
  view.cost = cost_of(records);
  view.money = money_of(view.cost, rates_of(records));
  for (const Record& record : records) {
    take_climb(view.climb, record);
    if (!iteration_of(record.step)) std::visit(Sorter(view), record.data);
  }
  fill_in_floors(view);
  if (view.end) {
    view.verdict = view.end->verdict;
    view.reason = view.end->reason;
    view.next = view.end->next;
  } else {
    view.reason = "the session ended before its verdict";
    view.next = "dent resume " + id;
  }
  return view;
}

void read_diffs(SessionView& view, const SessionFolder& session) {
  for (ClimbStep& step : view.climb.steps) {
    if (!step.iteration.patch.empty()) step.diff = text_of(artifact_path(session, step.iteration.patch));
  }
}

SessionView load_session(const SessionFolder& session) {
  const LedgerContent content = read_ledger(session.ledger());
  SessionView view = view_session(session.id, content.records);
  read_diffs(view, session);
  if (content.unchained > 0 && content.unchained == content.lines) {
    view.notes.push_back(
        "An older dent wrote this ledger without a hash chain: edits of it can't be detected.");
  }
  return view;
}

}  // namespace dent
