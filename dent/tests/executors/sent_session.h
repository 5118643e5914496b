// SPDX-License-Identifier: MIT
// What every session that was done elsewhere has to show.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "ledger/ledger.h"
#include "ledger/session_store.h"
#include "session/dent_program.h"

namespace dent::test {

// Each record of the job once, in its order; each step ended once; one verdict; the job's end last.
inline void expect_nothing_lost_nothing_twice(const ScratchProject& project) {
  const SessionFolder session = SessionStore(project.folder()).find("latest");
  std::int64_t last = 0;
  std::map<std::string, int> gates;
  int verdicts = 0;
  JobState state = JobState::pending;
  for (const Record& record : read_ledger(session.ledger()).records) {
    if (!record.job.empty()) {
      EXPECT_EQ(record.job_number, ++last);
    }
    if (const auto* gate = record.as<record::Gate>()) ++gates[gate->step];
    verdicts += record.as<record::Verdict>() != nullptr ? 1 : 0;
    if (const auto* job = record.as<record::Job>()) state = job->state;
  }
  EXPECT_GT(last, 5);
  EXPECT_EQ(verdicts, 1);
  EXPECT_EQ(name(state), "SUCCEEDED");
  for (const auto& [step, count] : gates) EXPECT_EQ(count, 1) << step;
  EXPECT_TRUE(std::filesystem::exists(session.folder / "report.html"));
}

// So many records of the running session are here.
inline void wait_for_records(const ScratchProject& project, int count) {
  for (int i = 0; i < 3000; ++i) {
    const auto sessions = SessionStore(project.folder()).list();
    const std::string text = sessions.empty() ? "" : text_of(sessions.back().ledger());
    if (std::count(text.begin(), text.end(), '\n') >= count) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw std::runtime_error("no records have come: " + project.read("log"));
}

}  // namespace dent::test
