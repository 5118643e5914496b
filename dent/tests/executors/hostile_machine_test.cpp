// SPDX-License-Identifier: MIT
// A machine behind --on that sends something else than results. What it measured can't be checked; where it
// can write, and for how long it can keep dent busy, is limited.
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/error.h"
#include "executors/record_stream.h"
#include "executors/scratch_job.h"
#include "executors/sent_session.h"
#include "records/line.h"
#include "system/streams.h"

namespace dent::hostile_machine_test {
namespace {

using test::kInstant;
using test::ScratchProject;
namespace fs = std::filesystem;

// A link in the place of a patch: a report, or a bundle, would show what it leads to.
TEST(HostileMachine, LeavesNoLinksInASessionsFolder) {
  const ScratchProject project;
  project.write("secret", "token");
  project.write_scale_manifest("right", std::string(kInstant) +
                                            "[executor.it]\nkind = \"command\"\ndent = \"" DENT_PROGRAM
                                            "\"\nstart = \"sh -c {command}\"\n"
                                            "bring_back = \"ln -s /etc/passwd {artifacts}/001.patch\"\n");
  const auto ran = project.dent({"check", "--on", "it"});
  EXPECT_NE(ran.err.find("001.patch is no plain file"), std::string::npos) << ran.err;
  const SessionFolder session = SessionStore(project.folder()).find("latest");
  EXPECT_FALSE(fs::exists(fs::symlink_status(session.artifacts() / "001.patch")));
}

TEST(HostileMachine, CanNotWriteToTheTerminal) {
  std::string chain;
  const std::string note =
      "\x1B]0;title\x07 \xC2\x9B"
      "2J plain";
  RecordStream stream;
  const Record record = stream.take(to_line({1, "2026-03-31T14:05:09.123Z", "", record::Note{note}}, chain));
  ASSERT_NE(record.as<record::Note>(), nullptr);
  EXPECT_EQ(record.as<record::Note>()->text, "?]0;title? ?2J plain");
}

TEST(HostileMachine, CanNotSendALineWithoutEnd) {
  std::size_t lines = 0;
  EXPECT_THROW(follow({.argv = {"sh", "-c", "echo one; exec tr '\\0' x </dev/zero"}},
                      [&](std::string_view) { ++lines; }),
               Error);
  EXPECT_EQ(lines, 1U);
}

TEST(HostileMachine, CanNotSendAnAnswerWithoutEnd) {
  const CommandAnswer answer = ask({.argv = {"cat", "/dev/zero"}, .file_bytes = 1 << 20}, 60);
  EXPECT_EQ(answer.ending.kind, Ending::Kind::signalled);
  EXPECT_LE(answer.out.size(), std::size_t{1} << 20);
}

// Another session's records, and those of a job that was never sent.
TEST(HostileMachine, CanNotPutARecordBeforeTheOnesThatCame) {
  std::string chain;
  RecordStream stream;
  stream.take(to_line({1, "2026-03-31T14:05:09.123Z", "", record::Note{"one"}}, chain));
  std::string other = "0000";
  EXPECT_THROW(stream.take(to_line({2, "1970-01-01T00:00:00.000Z", "", record::Note{"two"}}, other)), Error);
}

}  // namespace
}  // namespace dent::hostile_machine_test
