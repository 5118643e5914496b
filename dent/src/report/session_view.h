// SPDX-License-Identifier: MIT
// A session as its reports see it: the records sorted by what they speak of, the last word on each thing
// kept. What the trials of an iteration wrote is not in it: their outcome is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accounting/cost.h"
#include "ledger/session_store.h"
#include "records/any_record.h"
#include "report/climb.h"
#include "report/tone.h"

namespace dent {

// A step that is planned, has begun, or has ended.
struct StepView {
  std::string step;
  double time_box_s = 0;  // 0: none is known
  bool begun = false;
  std::optional<record::Gate> gate{};  // its end

  std::string_view verdict() const;  // pass, fail, skipped; "interrupted" before its end; "not reached"
  std::string_view reason() const;
  Tone tone() const;
};

struct SessionView {
  std::string id;
  std::string started;      // time of the first record
  record::Session session;  // all empty where the ledger has none
  std::optional<record::Environment> environment;
  std::optional<record::Build> build;
  std::vector<StepView> steps;  // in the order of the plan
  std::vector<record::Check> checks;
  std::vector<record::Prediction> predictions;
  std::vector<record::Correctness> correctness;
  std::vector<record::Samples> samples;         // against the baseline,
  std::vector<record::Comparison> comparisons;  // as these are; with the floors that the roofline gives
  std::vector<record::Cheated> cheats;
  std::vector<std::string> notes;
  std::optional<record::Roofline> roofline;
  std::vector<record::Diagnosis> diagnoses;
  std::optional<record::Summary> summary;
  Verdict verdict = Verdict::interrupted;
  std::string reason, next;
  std::optional<record::Verdict> end;  // nothing while it is interrupted
  std::size_t records = 0;
  ClimbView climb;                      // of an optimisation loop
  std::vector<record::Uptime> uptimes;  // of a machine that was paid for
  Cost cost;
  Money money;

  std::optional<Ratio> mean() const { return summary ? summary->ratio : std::nullopt; }  // over shapes
  // "geometric mean over shapes", and whether they count differently
  std::string_view what_the_mean_is() const;
  std::string device() const;  // its name where it is known, else its kind
  const record::Comparison* comparison(const std::string& shape) const;  // null: there is none
};

SessionView view_session(const std::string& id, std::span<const Record> records);
void read_diffs(SessionView& view, const SessionFolder& session);  // of the changes that a loop tried
SessionView load_session(const SessionFolder& session);  // tolerates a torn last line, changes nothing

}  // namespace dent
