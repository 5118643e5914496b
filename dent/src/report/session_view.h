// SPDX-License-Identifier: MIT
// A session as reports see it: records sorted by subject, with the last record on each subject. Records of an
// iteration's trials are left out; their outcome is included.
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

// A step: planned, begun or ended.
struct StepView {
  std::string step;
  double time_box_s = 0;  // 0: unknown
  bool begun = false;
  std::optional<record::Gate> gate{};  // nothing until it ends

  std::string_view verdict() const;  // pass, fail, skipped, interrupted, not reached
  std::string_view reason() const;
  Tone tone() const;
};

struct SessionView {
  std::string id;
  std::string started;      // time of the first record
  record::Session session;  // empty if the ledger has none
  std::optional<record::Environment> environment;
  std::optional<record::Build> build;
  std::vector<StepView> steps;  // in the order of the plan
  std::vector<record::Check> checks;
  std::vector<record::Prediction> predictions;
  std::vector<record::Correctness> correctness;
  std::vector<record::Samples> samples;         // against the baseline
  std::vector<record::Comparison> comparisons;  // for these samples; floors are filled in from the roofline
  std::vector<record::Cheated> cheats;
  std::vector<std::string> notes;
  std::optional<record::Roofline> roofline;
  std::vector<record::Diagnosis> diagnoses;
  std::optional<record::Summary> summary;
  Verdict verdict = Verdict::interrupted;
  std::string reason, next;
  std::optional<record::Verdict> end;  // nothing if the session was interrupted
  std::size_t records = 0;
  ClimbView climb;                      // for an optimisation loop
  std::vector<record::Uptime> uptimes;  // for a rented machine
  Cost cost;
  Money money;

  std::optional<Ratio> mean() const { return summary ? summary->ratio : std::nullopt; }  // over shapes
  // "geometric mean over shapes", or "weighted ..." if weights differ
  std::string_view what_the_mean_is() const;
  std::string device() const;  // its name if known, otherwise its kind
  const record::Comparison* comparison(const std::string& shape) const;  // null if there is none
};

SessionView view_session(const std::string& id, std::span<const Record> records);
void read_diffs(SessionView& view, const SessionFolder& session);  // diffs of a loop's changes
SessionView load_session(const SessionFolder& session);  // ignores a torn last line; changes nothing

}  // namespace dent
