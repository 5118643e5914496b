// SPDX-License-Identifier: MIT
// dent optimize --parallel: several candidates at a time, and the results of one at a time.
#include <gtest/gtest.h>

#include <random>

#include "executors/job_table.h"
#include "loop/loop_project.h"

namespace dent::parallel_test {
namespace {

namespace fs = std::filesystem;
using test::expect_a_finished_loop;
using test::expect_nothing_stays_in;
using test::Repository;
using test::ScratchProject;

std::string variant(const std::string& name, const std::string& spin, const std::string& broken = "0") {
  return "[[variants]]\nname = \"" + name + "\"\nphase = \"compute\"\nabout = \"" + name +
         "\"\nflags = [\"-O1\", \"-DSPIN=" + spin + "\", \"-DBROKEN=" + broken + "\"]\n";
}

// Each is much better than the one before, wrong, the same program as another, or much slower.
const std::string kLadder = variant("less", "16") + variant("least", "1") + variant("wrong", "1", "1") +
                            variant("twin", "1") + variant("more", "512");

class Ladder : public Repository {
 public:
  Ladder() : Repository(kLadder, true, true) {
    std::string manifest = read("dent.toml");
    manifest.replace(manifest.find("flags = [\"-O1\"]"), 15,
                     "flags = [\"-O1\", \"-DSPIN=512\", \"-DBROKEN=0\"]");
    write("dent.toml", manifest);
  }
  bool has_begun() const {
    const auto sessions = SessionStore(folder()).list();
    return !sessions.empty() && fs::exists(sessions.back().ledger()) && state_of(records()).opened;
  }
  std::vector<SentJob> jobs() const { return JobTable(folder() / ".dent").list(); }
};

// What was tried, and how each ended.
std::map<std::string, std::string> results(const Ladder& project) {
  std::map<std::string, std::string> all;
  for (const Iteration& iteration : state_of(project.records()).iterations) {
    const std::string what = iteration.proposal.variant.value_or("?");
    EXPECT_TRUE(iteration.outcome.has_value()) << what;
    if (iteration.outcome) all[what] = iteration.outcome->kept ? "kept" : "dropped";
  }
  return all;
}

struct Measured {
  std::string step;
  double begin = 0, end = 0;
};

double seconds_of(const std::string& utc) {  // of one day
  return 3600 * std::stod(utc.substr(11, 2)) + 60 * std::stod(utc.substr(14, 2)) + std::stod(utc.substr(17));
}

std::vector<Measured> measured_by_jobs(const Ladder& project) {
  std::vector<Measured> all;
  for (const SentJob& sent : project.jobs()) {
    for (const Record& record : read_ledger(sent.folder() / "ledger.jsonl").records) {
      const auto* gate = record.as<record::Gate>();
      if (gate == nullptr || gate->uses != Uses::device) continue;
      const double end = seconds_of(record.time);
      all.push_back({gate->step, end - gate->elapsed_s, end});
    }
  }
  return all;
}

// No two gates that run kernels overlap, by the job's own records: its device is its own until what it found
// is on record.
void expect_turns(const std::vector<Measured>& all) {
  EXPECT_GT(all.size(), 10U);
  constexpr double kClock = 0.0015;  // records have milliseconds
  for (const Measured& a : all) {
    for (const Measured& b : all) {
      if (&a == &b) continue;
      EXPECT_FALSE(a.begin + kClock < b.end && b.begin + kClock < a.end) << a.step << " beside " << b.step;
    }
  }
}

// `least` and `twin` are proved better than the start while `less` takes its place.
void expect_compared_again(const Ladder& project) {
  const LoopState state = state_of(project.records());
  std::map<std::string, const Iteration*> by_name;
  for (const Iteration& iteration : state.iterations) by_name[*iteration.proposal.variant] = &iteration;
  EXPECT_FALSE(by_name.at("less")->again);
  EXPECT_TRUE(by_name.at("least")->again);
  EXPECT_EQ(by_name.at("least")->parent, by_name.at("less")->commit);
  EXPECT_TRUE(by_name.at("twin")->again);
  EXPECT_EQ(by_name.at("twin")->outcome->stage, TrialStage::build) << by_name.at("twin")->outcome->reason;
  // What is dropped stays with the incumbent that it was compared with.
  EXPECT_FALSE(by_name.at("wrong")->again);
  EXPECT_EQ(by_name.at("wrong")->parent, state.base);
  EXPECT_EQ(project.git({"rev-parse", state.branch + "~1"}), by_name.at("less")->commit + "\n");
}

TEST(Parallel, TheResultsAreThoseOfOneAtATimeAndNoTwoMeasureOnOneDevice) {
  const Ladder one, four;
  four.make_dirty();
  const auto before = four.everything();
  const auto together = four.dent({"optimize", "-q", "--json", "-n", "5", "--parallel", "4"}, 600);
  ASSERT_EQ(together.code, 0) << four.outcomes() << together.out << together.err;
  EXPECT_EQ(four.changes_since(before), "");
  expect_turns(measured_by_jobs(four));
  for (const SentJob& sent : four.jobs()) EXPECT_EQ(sent.status().state, JobState::succeeded);
  // Four were on their way before anything was known of the first.
  int begun = 0;
  for (const Record& record : four.records()) {
    if (record.as<record::Outcome>() != nullptr) break;
    const auto* iteration = record.as<record::Iteration>();
    begun += iteration != nullptr && !iteration->again ? 1 : 0;
  }
  EXPECT_EQ(begun, 4);

  const auto alone = one.dent({"optimize", "-q", "--json", "-n", "5"}, 600);
  ASSERT_EQ(alone.code, 0) << one.outcomes() << alone.out << alone.err;
  EXPECT_EQ(results(one), results(four)) << one.outcomes() << four.outcomes();
  EXPECT_EQ(together.json().at("choice"), alone.json().at("choice"));
  expect_compared_again(four);
}

TEST(Parallel, AKilledCoordinatorFindsAllThatIsInFlight) {
  const Ladder project;
  project.make_dirty();
  const auto before = project.everything();
  std::mt19937 random(64);
  std::uniform_int_distribution<int> moment(50, 1500);
  int kills = 0;
  for (bool ended = false; !ended; ++kills) {
    ASSERT_LT(kills, 60);
    const bool begun = project.has_begun();
    const auto arguments = begun ? std::vector<std::string>{"resume", "-q"}
                                 : std::vector<std::string>{"optimize", "-q", "-n", "5", "--parallel", "3"};
    ended =
        project.run_for(arguments, kills < 12 ? moment(random) : 200000, ScratchProject::Kill::dent_alone);
  }
  EXPECT_GE(kills, 4) << project.read("log");
  EXPECT_EQ(project.changes_since(before), "");
  std::map<std::string, int> parts, gates, iterations;
  int outcomes = 0, verdicts = 0;
  for (const SentJob& sent : project.jobs()) ++parts[sent.job().part->name];
  for (const auto& [part, count] : parts) EXPECT_EQ(count, 1) << part;
  for (const Record& record : project.records()) {
    if (const auto* gate = record.as<record::Gate>()) ++gates[gate->step];
    if (const auto* iteration = record.as<record::Iteration>())
      ++iterations[std::to_string(iteration->iteration) + (iteration->again ? " again" : "")];
    outcomes += record.as<record::Outcome>() != nullptr ? 1 : 0;
    verdicts += record.as<record::Verdict>() != nullptr ? 1 : 0;
  }
  for (const auto& [step, count] : gates) EXPECT_EQ(count, 1) << step;
  for (const auto& [iteration, count] : iterations) EXPECT_EQ(count, 1) << iteration;
  EXPECT_EQ(outcomes, 5);
  EXPECT_EQ(verdicts, 1);
  expect_nothing_stays_in(project.folder());
}

// An agent as the proposer, whose own children are looked after: the jobs are none of them.
TEST(Parallel, AProgramIsAskedForAnotherIdeaWhileItsFirstIsTried) {
  Ladder project;
  project.write("dent.toml", project.read("dent.toml") +
                                 "[optimize]\nproposers = [\"command\"]\n"
                                 "command = \"sh propose.sh\"\n");
  project.write(
      "propose.sh",
      "case $(grep -c '\"proposer\"' \"$DENT_BRIEF\") in\n"
      "  0) v=less ;;\n  1) v=least ;;\n  *) echo '{\"done\": true}'; exit ;;\nesac\n"
      "echo \"{\\\"bottleneck\\\": \\\"b\\\", \\\"change\\\": \\\"$v\\\", \\\"expected\\\": \\\"e\\\", "
      "\\\"variant\\\": \\\"$v\\\"}\"\n");
  const auto ran = project.dent({"optimize", "-q", "--json", "--parallel", "2"}, 600);
  ASSERT_EQ(ran.code, 0) << project.outcomes() << ran.out << ran.err;
  const LoopState state = state_of(project.records());
  ASSERT_GE(state.iterations.size(), 2U);
  EXPECT_EQ(state.iterations[0].proposal.variant, "less") << project.outcomes();
  EXPECT_EQ(state.iterations[1].proposal.variant, "least") << project.outcomes();
  for (const Record& record : project.records()) {  // asked for before the first had an outcome
    const auto* begun = record.as<record::Iteration>();
    if (begun != nullptr && !begun->again && begun->iteration <= 2) {
      EXPECT_EQ(begun->parent, state.base);
    }
  }
  for (const Iteration& iteration : {state.iterations[0], state.iterations[1]})
    EXPECT_NE(iteration.outcome->stage, TrialStage::refused) << project.outcomes();
  for (const SentJob& sent : project.jobs()) EXPECT_EQ(sent.status().state, JobState::succeeded);
}

TEST(Parallel, MustBeANumberThatMakesSense) {
  const Ladder project;
  EXPECT_EQ(project.dent({"optimize", "-q", "--parallel", "0"}).code, 2);
  EXPECT_EQ(project.dent({"optimize", "-q", "--parallel", "65"}).code, 2);
}

}  // namespace
}  // namespace dent::parallel_test
