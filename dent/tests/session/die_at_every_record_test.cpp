// SPDX-License-Identifier: MIT
// A process that dies after any record: what it leaves is the beginning of a ledger. From every such
// beginning a session goes on to the same story. No luck is involved.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "ledger/ledger.h"
#include "ledger/session_store.h"
#include "session/dent_program.h"

namespace dent::die_at_every_record_test {
namespace {

using test::ScratchProject;

const std::string kInstantSession =
    "[performance]\nprofile_below = 0.001\nseconds = 0.1\nsame_within = 0.9\nprecision = 0.9\n"
    "stop_below = 0.01\nbaseline_within = 50\n[correctness]\nseeds = 1\n";

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Steps in order, and how they ended.
std::vector<std::string> story(const SessionFolder& session) {
  std::vector<std::string> text;
  for (const Record& record : read_ledger(session.ledger()).records) {
    const auto* gate = record.as<record::Gate>();
    if (gate == nullptr) continue;
    text.push_back(gate->step + " " + std::string(name(gate->verdict)));
  }
  return text;
}

TEST(DiesAtEveryRecord, ARunTellsTheSameStory) {
  const ScratchProject project;
  project.write_scale_manifest("right", kInstantSession);
  ASSERT_EQ(project.dent({"run", "-q"}).code, 0);
  const SessionFolder session = SessionStore(project.folder()).find("latest");
  const std::vector<std::string> whole = lines_of(session.ledger());
  const std::vector<std::string> expected = story(session);
  ASSERT_GT(whole.size(), 20U);
  for (std::size_t n = 1; n < whole.size(); ++n) {
    {
      std::ofstream cut(session.ledger(), std::ios::trunc);
      for (std::size_t i = 0; i < n; ++i) cut << whole[i] << "\n";
      std::filesystem::remove(seal_of(session.ledger()));  // what came after was never sealed
    }
    const test::Ran resumed = project.dent({"resume", "-q", session.id});
    EXPECT_EQ(resumed.code, 0) << "after record " << n << ": " << resumed.err;
    EXPECT_EQ(story(session), expected) << "after record " << n;
    int verdicts = 0;
    for (const Record& record : read_ledger(session.ledger()).records)
      verdicts += record.as<record::Verdict>() != nullptr ? 1 : 0;
    EXPECT_EQ(verdicts, 1) << "after record " << n;
  }
}

}  // namespace
}  // namespace dent::die_at_every_record_test
