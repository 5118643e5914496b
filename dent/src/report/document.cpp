// SPDX-License-Identifier: MIT
#include "report/document.h"

#include <fmt/format.h>

#include "report/format.h"

namespace dent {
namespace {

// The version of report.json. Within a version, keys are only added.
constexpr int kDocumentSchema = 1;

template <class Entries, class ToJson>
JsonList list(const Entries& entries, const ToJson& to_json) {
  JsonList items;
  for (const auto& entry : entries) items.add(to_json(entry));
  return items;
}

JsonObject step_json(const StepView& step) {
  JsonObject object{{"step", step.step}, {"verdict", step.verdict()}, {"reason", step.reason()}};
  if (step.time_box_s > 0) object.add("time_box_s", step.time_box_s);
  if (!step.gate) return object;
  object.add("elapsed_s", step.gate->elapsed_s).may("last_words", step.gate->last_words);
  if (step.gate->cause) object.add("cause", name(*step.gate->cause));
  return object;
}

JsonObject prediction_json(const record::Prediction& p) {
  JsonObject object{{"shape", p.shape},           {"headline", p.headline},
                    {"dominating", p.dominating}, {"expected_us", p.expected_us},
                    {"low_us", p.low_us},         {"high_us", p.high_us}};
  if (!p.changes.empty()) object.may("change", p.changes.front().change);
  return object;
}

JsonObject correctness_json(const record::Correctness& c) {
  JsonObject object{{"shape", c.shape},         {"verdict", name(c.verdict)},
                    {"max_error", c.max_error}, {"worst_error", c.worst_error()},
                    {"bound", c.bound},         {"bad", c.bad},
                    {"elements", c.elements},   {"seeds", c.seeds}};
  return object.may("first_bad", show_first_bad(c));
}

JsonObject history_json(const HistoryEntry& entry) {
  if (!entry.unreadable.empty()) return {{"id", entry.id}, {"unreadable", entry.unreadable}};
  JsonObject object{{"id", entry.id}, {"verdict", name(entry.verdict)}};
  object.may("started", entry.started).add("ratio", entry.mean);
  return object.may("candidate", entry.candidate).may("device", entry.device).may("commit", entry.commit);
}

JsonObject iteration_json(const ClimbStep& step) {
  const Proposal& proposal = step.iteration.proposal;
  JsonObject entry{{"iteration", step.iteration.iteration},
                   {"proposer", proposal.proposer},
                   {"phase", name(proposal.phase)},
                   {"bottleneck", proposal.hypothesis.bottleneck},
                   {"change", proposal.hypothesis.change},
                   {"expected", proposal.hypothesis.expected},
                   {"kept", step.kept()},
                   {"stage", step.outcome ? name(step.outcome->outcome.stage) : ""},
                   {"reason", step.outcome ? step.outcome->outcome.reason : ""},
                   {"speedup", step.speedup},
                   {"elapsed_s", step.outcome ? step.outcome->outcome.elapsed_s : 0.0},
                   {"overhead_s", step.outcome ? step.outcome->overhead_s : 0.0},
                   {"gain", step.gain()}};
  if (step.outcome) entry.may("commit", step.outcome->commit);
  return entry.may("pattern", proposal.pattern).may("patch", step.iteration.patch);
}

JsonObject climb_json(const ClimbView& climb) {
  JsonObject object{{"branch", climb.loop->branch}, {"base", climb.loop->base}};
  if (climb.end) object.add("ended", climb.end->reason);
  object.add("target", climb.loop->target).add("start", climb.start).add("winner", climb.winner);
  object.add("iterations", list(climb.steps, iteration_json));
  return object.add(
      "gains", list(climb.gains, [](const record::Comparison& gain) {
        JsonObject entry{{"shape", gain.shape}, {"verdict", name(gain.verdict)}, {"ratio", gain.ratio}};
        if (gain.busy) entry.add("busy", true);
        return entry;
      }));
}

}  // namespace

JsonObject cost_json(const Cost& cost, const Money& money) {
  JsonObject object(cost);
  if (money.total() > 0) object.add("usd", money);
  return object;
}

JsonObject json_report(const SessionView& s, std::span<const HistoryEntry> history) {
  JsonObject object{{"schema", kDocumentSchema},
                    {"id", s.id},
                    {"started", s.started},
                    {"verdict", name(s.verdict)},
                    {"reason", s.reason}};
  object.may("next", s.next);
  if (s.summary && s.summary->busy) object.add("busy", true);
  if (s.end) {
    object.add("exit_code", s.end->exit_code).add("elapsed_s", s.end->elapsed_s);
    if (s.end->own_s > 0) object.add("own_s", s.end->own_s);
  }
  object.add("ratio", s.mean()).add("session", s.session);
  object.add("environment", s.environment ? JsonValue(*s.environment) : JsonValue(JsonObject()));
  object.add("build", s.build).add("gates", list(s.steps, step_json)).add("checks", s.checks);
  if (!s.predictions.empty()) object.add("predictions", list(s.predictions, prediction_json));
  object.add("correctness", list(s.correctness, correctness_json));
  object.add("comparisons", s.comparisons).add("cheats", s.cheats).add("roofline", s.roofline);
  if (!s.diagnoses.empty()) object.add("diagnoses", s.diagnoses);
  if (s.climb.loop) object.add("climb", climb_json(s.climb));
  if (!s.uptimes.empty()) object.add("uptimes", s.uptimes);
  object.add("cost", cost_json(s.cost, s.money)).add("notes", s.notes);
  return object.add("history", list(history, history_json));
}

}  // namespace dent
