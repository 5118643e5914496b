// SPDX-License-Identifier: MIT
// Killed at any instant, a session goes on where it was: nothing lost, nothing twice.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "ledger/ledger.h"
#include "ledger/session_store.h"
#include "session/dent_program.h"

namespace dent::resume_test {
namespace {

using test::ScratchProject;

const std::string kInstantSession =
    "[performance]\nprofile_below = 0.001\nseconds = 0.15\nsame_within = 0.9\nprecision = 0.9\nstop_below = "
    "0.01\nbaseline_within = "
    "50\n"
    "[correctness]\nseeds = 1\n";

TEST(Resume, GoesOnAfterFiftyKillsAtRandom) {
  const ScratchProject project;
  project.write_scale_manifest("right", kInstantSession);
  std::mt19937 random(20);
  std::uniform_int_distribution<int> moment(1, 700);
  int kills = 0;
  int sessions = 0;
  const SessionStore store(project.folder());
  while (kills < 50) {
    bool ended = project.run_for({"run", "-q"}, moment(random));
    if (!ended) ++kills;
    if (store.list().empty()) continue;
    const SessionFolder session = store.find("latest");
    if (!std::filesystem::exists(session.ledger()) || read_ledger(session.ledger()).records.empty())
      continue;  // before its start
    // Killed again and again on its way, but each time given a little longer.
    for (int attempt = 1; !ended; ++attempt) {
      ended = project.run_for({"resume", "-q", session.id}, moment(random) + 200 * attempt);
      if (!ended) ++kills;
    }
    ++sessions;
    std::map<std::string, int> gates;
    int verdicts = 0;
    for (const Record& record : read_ledger(session.ledger()).records) {  // throws for a broken line or a gap
      if (const auto* gate = record.as<record::Gate>()) ++gates[gate->step];
      if (record.as<record::Verdict>() != nullptr) ++verdicts;
    }
    EXPECT_EQ(verdicts, 1) << session.id;
    EXPECT_EQ(gates.size(), 10U) << session.id;
    for (const auto& [step, count] : gates) EXPECT_EQ(count, 1) << session.id << " " << step;
    EXPECT_TRUE(std::filesystem::exists(session.folder / "report.html"));
  }
  EXPECT_GT(sessions, 1);  // how many depends on the machine
}

TEST(Resume, RefusesAManifestThatHasChanged) {
  const ScratchProject project;
  project.write_scale_manifest("right", kInstantSession);
  project.dent({"check", "-q"});
  project.write_scale_manifest("wrong", kInstantSession);
  const auto ran = project.dent({"resume"});
  EXPECT_EQ(ran.code, 2) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("dent.toml has changed"), std::string::npos) << ran.err;
}

TEST(Resume, OfAFinishedSessionRepeatsNothing) {
  const ScratchProject project;
  project.write_scale_manifest("right", kInstantSession);
  project.dent({"check", "-q"});
  const auto session = SessionStore(project.folder()).find("latest");
  const auto before = read_ledger(session.ledger()).records.size();
  EXPECT_EQ(project.dent({"resume", "-q"}).code, 0);
  EXPECT_EQ(read_ledger(session.ledger()).records.size(), before);
}

TEST(TwoAtOnce, TheSecondIsToldWhoIsThere) {
  const ScratchProject project;
  project.write_scale_manifest("hangs", "[limits]\ncall_seconds = 60\n");
  Process first({.argv = project.command({"check", "-q"}), .log = project.folder() / "log"});
  const auto lock = project.folder() / ".dent" / "lock";
  for (int i = 0; i < 200 && project.read(".dent/lock").empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_TRUE(std::filesystem::exists(lock));
  const auto second = project.dent({"check"});
  EXPECT_EQ(second.code, 12) << second.err;
  // The session's own process, which the one that was started watches over.
  const std::size_t named = second.err.find("process ");
  ASSERT_NE(named, std::string::npos) << second.err;
  const std::string holder = std::to_string(std::stol(second.err.substr(named + 8)));
  std::ifstream status("/proc/" + holder + "/status");
  std::string parent;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("PPid:")) parent = line.substr(line.find_last_of(" \t") + 1);
  EXPECT_EQ(parent, std::to_string(first.id())) << second.err;
  first.kill(Ending::Kind::signalled);
  project.write_scale_manifest("right");
  EXPECT_EQ(project.dent({"check", "-q"}).code, 0) << "a lock dies with its holder";
}

TEST(Storage, AReadOnlyFolderIsAClearError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const ScratchProject project;
  project.write_scale_manifest("right");
  chmod(project.folder().c_str(), 0555);
  const auto ran = project.dent({"check"});
  chmod(project.folder().c_str(), 0755);
  EXPECT_EQ(ran.code, 3) << ran.err;
}

// A disk of its own, which the test can fill.
class SmallDisk {
 public:
  explicit SmallDisk(std::filesystem::path folder) : folder_(std::move(folder)) {
    mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=8m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }
  void fill_but(std::uintmax_t bytes) const {
    const auto left = std::filesystem::space(folder_).available;
    std::ofstream(folder_ / "filler") << std::string(left > bytes ? left - bytes : 0, 'x');
  }
  void clear() const { std::filesystem::remove(folder_ / "filler"); }

 private:
  std::filesystem::path folder_;
  bool mounted_ = false;
};

TEST(Storage, AFullDiskIsAClearErrorAndLosesNothing) {
  const ScratchProject project;
  const SmallDisk disk(project.folder());
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a small disk";
  project.write_scale_manifest("right", kInstantSession);
  project.dent({"bench", "-q"});  // what is built is there now
  disk.fill_but(16 * 1024);       // room for the beginning of a ledger
  const Finished full =
      run({.argv = project.command({"bench", "-q"}), .log = "/tmp/dent-full-disk.log"}, 120);
  EXPECT_EQ(full.ending.code, 3) << full.output;
  EXPECT_NE(full.output.find("No space left on device"), std::string::npos) << full.output;
  std::filesystem::remove("/tmp/dent-full-disk.log");
  const auto session = SessionStore(project.folder()).find("latest");
  const auto kept = read_ledger(session.ledger()).records.size();
  EXPECT_GT(kept, 0U);
  disk.clear();
  const auto resumed = project.dent({"resume", "-q", session.id});
  EXPECT_EQ(resumed.code, 0) << resumed.out << resumed.err;
  EXPECT_GT(read_ledger(session.ledger()).records.size(), kept);
}

}  // namespace
}  // namespace dent::resume_test
