// SPDX-License-Identifier: MIT
// Everything that dent can put on record, and one record as it stands in a ledger.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "records/build.h"
#include "records/comparison.h"
#include "records/correctness.h"
#include "records/diagnosis.h"
#include "records/job.h"
#include "records/loop.h"
#include "records/session.h"
#include "records/uptime.h"

namespace dent {

namespace record {

// Of a later dent: shown by its kind, kept as text.
struct Unknown {
  std::string kind, text;
  bool operator==(const Unknown&) const = default;
};

}  // namespace record

using RecordKinds =
    std::variant<record::Session, record::Environment, record::Note, record::Begin, record::Check,
                 record::Build, record::Prediction, record::Correctness, record::Samples, record::Comparison,
                 record::Summary, record::Roofline, record::Diagnosis, record::Cheated, record::Gate,
                 record::Loop, record::Iteration, record::Outcome, record::PatternTried, record::Standing,
                 record::BudgetMark, record::LoopEnd, record::Job, record::Uptime, record::Verdict,
                 record::Unknown>;

// One of them. To copy or to destroy it is a switch over all kinds: written once, in any_record.cpp, instead
// of in every file that has a record.
class AnyRecord : public RecordKinds {
 public:
  using RecordKinds::RecordKinds;
  AnyRecord();
  AnyRecord(const AnyRecord&);
  AnyRecord(AnyRecord&&) noexcept;
  AnyRecord& operator=(const AnyRecord&);
  AnyRecord& operator=(AnyRecord&&) noexcept;
  ~AnyRecord();
};

std::string_view kind_of(const AnyRecord& record);

struct Record {
  std::int64_t number = 0;  // of its line, from 1
  std::string time;         // UTC, 2026-03-31T14:05:09.123Z
  std::string step;         // that it belongs to; empty: to the session
  AnyRecord data;
  std::string job{};            // that wrote it elsewhere; empty: written here
  std::int64_t job_number = 0;  // of its line in the job's own ledger

  template <class Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&data);
  }
};

}  // namespace dent
