// SPDX-License-Identifier: MIT
// All kinds of records, and one record as it is in a ledger.
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

// A record of a kind that only a later dent knows: shown by its kind, kept as text.
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

// A record of any kind. Copying and destroying it is a switch over all kinds, compiled once in any_record.cpp
// to save compile time.
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
  std::int64_t number = 0;  // number of its line, from 1
  std::string time;         // UTC, 2026-03-31T14:05:09.123Z
  std::string step;         // step that it belongs to; empty: the session
  AnyRecord data;
  std::string job{};            // job that wrote it on another machine; empty: written here
  std::int64_t job_number = 0;  // number of its line in the job's own ledger

  template <class Kind>
  const Kind* as() const {
    return std::get_if<Kind>(&data);
  }
};

}  // namespace dent
