// SPDX-License-Identifier: MIT
// Comparing commits: dent ci, dent bisect, and the bisection itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "commits/bisect.h"
#include "commits/committed_project.h"
#include "commits/track.h"
#include "project/manifest.h"
#include "session/dent_program.h"
#include "system/capture.h"

namespace dent::commits_test {
namespace {

using test::ScratchProject;

const std::string kQuick =
    "[performance]\nseconds = 0.2\nsame_within = 0.5\nprecision = 0.9\nbaseline_within = 50\n"
    "[correctness]\nseeds = 1\n";

// A project in its own repository.
class Committed : public ScratchProject {
 public:
  Committed() {
    git({"init", "-q", "-b", "main"});
    write(".gitignore", ".dent\nstdout\nstderr\n*.md\n");
  }
  std::string git(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"git", "-c", "user.name=t", "-c", "user.email=t@t"});
    auto said = capture(arguments, 30, folder());
    EXPECT_TRUE(said) << arguments[5];
    while (said && !said->empty() && said->back() == '\n') said->pop_back();
    return said.value_or("");
  }
  std::string commit(const std::string& subject) const {
    git({"add", "-A"});
    git({"commit", "-q", "--allow-empty", "-m", subject});
    return git({"rev-parse", "HEAD"});
  }
  std::string commit_kernel(const std::string& entry, const std::string& subject) const {
    write_scale_manifest(entry, kQuick);
    return commit(subject);
  }
  Repository repository() const {
    std::filesystem::create_directories(folder() / ".dent");
    return {folder(), folder() / ".dent", kManifestName};
  }
};

TEST(Bisect, FindsTheFirstBadCommitInAsManyQuestionsAsItsLogarithm) {
  const Committed project;
  std::vector<std::string> commits;
  for (int i = 0; i < 33; ++i) commits.push_back(project.commit(std::to_string(i)));
  const Repository repository = project.repository();
  EXPECT_EQ(halvings(repository, commits.front(), commits.back()), 5);
  for (const int first : {1, 2, 16, 17, 31, 32}) {
    int asked = 0;
    const auto found = bisect(repository, commits.front(), commits.back(), [&](const std::string& commit) {
      ++asked;
      const auto at = std::find(commits.begin(), commits.end(), commit) - commits.begin();
      return at >= first ? Standing::as_bad : Standing::as_good;
    });
    EXPECT_EQ(found, std::vector{commits[static_cast<std::size_t>(first)]});
    EXPECT_LE(asked, 5);
  }
}

TEST(Bisect, CommitsThatCanNotBeMeasuredAreStepsAroundOrAllThatIsLeft) {
  const Committed project;
  std::vector<std::string> commits;
  for (int i = 0; i < 9; ++i) commits.push_back(project.commit(std::to_string(i)));
  const Repository repository = project.repository();
  std::map<std::string, int> asked;
  const auto judge = [&](int first, std::vector<int> unknown) {
    return [&, first, unknown](const std::string& commit) {
      ++asked[commit];
      const auto at = static_cast<int>(std::find(commits.begin(), commits.end(), commit) - commits.begin());
      if (std::find(unknown.begin(), unknown.end(), at) != unknown.end()) return Standing::unknown;
      return at >= first ? Standing::as_bad : Standing::as_good;
    };
  };
  EXPECT_EQ(bisect(repository, commits[0], commits[8], judge(6, {4})), std::vector{commits[6]});
  auto left = bisect(repository, commits[0], commits[8], judge(5, {3, 4}));
  std::sort(left.begin(), left.end());
  std::vector<std::string> expected{commits[3], commits[4], commits[5]};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(left, expected);
  for (const auto& [commit, times] : asked) EXPECT_LE(times, 2) << "once in each search";
}

TEST(Bisect, FollowsMerges) {
  const Committed project;
  const std::string start = project.commit("start");
  project.git({"checkout", "-q", "-b", "side"});
  project.commit("side 1");
  const std::string slow = project.commit("side 2");
  project.commit("side 3");
  project.git({"checkout", "-q", "main"});
  project.commit("main 1");
  project.git({"merge", "-q", "--no-ff", "-m", "merge", "side"});
  const std::string end = project.git({"rev-parse", "HEAD"});
  const Repository repository = project.repository();
  const auto found = bisect(repository, start, end, [&](const std::string& commit) {
    return repository.try_git({"merge-base", "--is-ancestor", slow, commit}).ok() ? Standing::as_bad
                                                                                  : Standing::as_good;
  });
  EXPECT_EQ(found, std::vector{slow});
}

TEST(Bisect, GoodIsAnAncestorOfBad) {
  const Committed project;
  const std::string first = project.commit("first"), second = project.commit("second");
  EXPECT_THROW(
      bisect(project.repository(), second, first, [](const std::string&) { return Standing::unknown; }),
      Error);
}

TEST(Ci, MeasuresBothCommitsAndWritesTheComment) {
  const Committed project;
  const std::string base = project.commit_kernel("right", "a fast kernel");
  project.commit_kernel("slow", "a slow | kernel");
  const std::string comment = (project.folder() / "comment.md").string();
  const auto ran = project.dent(
      {"ci", "--base", "HEAD~1", "--comment", comment, "--link", "https://x/report.html", "--json"});
  EXPECT_EQ(ran.code, 7) << ran.out << ran.err;
  const std::string text = project.read("comment.md");
  EXPECT_EQ(text.rfind("<!-- dent ci: scale -->\n", 0), 0U) << text;
  for (const char* part : {"| tiny |", "| small |", "Right on 2 of 2 shapes", "a fast kernel",
                           "a slow \\| kernel", "[Report](https://x/report.html)"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  EXPECT_EQ(ran.json().at("report").at("session").at("baseline"), base.substr(0, 12));
  EXPECT_EQ(project.git({"status", "--porcelain"}), "") << "the tree is as it was";
  EXPECT_EQ(project.git({"worktree", "list"}).find('\n'), std::string::npos) << "no worktree is left";
  const auto resumed = project.dent({"resume"});
  EXPECT_NE(resumed.err.find("dent ci"), std::string::npos) << resumed.err;
}

TEST(Ci, ItsSessionIsNoBundle) {
  const Committed project;
  project.commit_kernel("wrong", "wrong");
  EXPECT_EQ(project.dent({"ci", "--base", "HEAD"}).code, 5);
  const auto ran = project.dent({"bundle", "--anyway", "-o", "/dev/null"});
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_NE(ran.err.find("is of dent ci, which compares commits"), std::string::npos) << ran.err;
}

TEST(Ci, AWrongKernelIsWrongWhateverWasBefore) {
  const Committed project;
  project.commit_kernel("right", "right");
  project.commit_kernel("wrong", "wrong");
  EXPECT_EQ(project.dent({"ci", "--base", "HEAD~1"}).code, 5);
}

TEST(Ci, AChangeThatMendsAWrongKernelPassesWithoutAComparison) {
  const Committed project;
  project.commit_kernel("wrong", "wrong");
  project.commit_kernel("right", "right");
  const auto ran = project.dent({"ci", "--base", "HEAD~1", "--comment", "-"});
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("scale: PASS"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("not compared"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("Measured in turn"), std::string::npos) << ran.out;
}

TEST(Ci, WhatCanNotBeComparedIsSaid) {
  const Committed project;
  project.commit("nothing yet");
  project.commit_kernel("right", "right");
  const auto no_project = project.dent({"ci", "--base", "HEAD~1"});
  EXPECT_NE(no_project.code, 0);
  EXPECT_NE(no_project.err.find("nothing yet has no such project"), std::string::npos) << no_project.err;
  const auto no_commit = project.dent({"ci", "--base", "origin/main"});
  EXPECT_NE(no_commit.code, 0);
  EXPECT_NE(no_commit.err.find("git knows no commit"), std::string::npos) << no_commit.err;
  EXPECT_NE(no_commit.err.find("fetch-depth"), std::string::npos) << no_commit.err;
  const auto both = project.dent({"ci", "--base", "HEAD", "--comment", "-", "--json"});
  EXPECT_EQ(both.code, 2);
  EXPECT_NE(both.err.find("stdout"), std::string::npos) << both.err;
}

TEST(BisectCommand, SkipsWhatDoesNotBuildAndRefusesWhereNothingGotSlower) {
  const Committed project;
  project.commit_kernel("right", "fast");
  project.commit_kernel("no such entry", "does not load");
  project.commit_kernel("slow", "slow");
  const auto ran = project.dent({"bisect", "HEAD~2", "HEAD", "--json"}, 600);
  EXPECT_EQ(ran.code, 8) << ran.out << ran.err;
  const auto judged = ran.json().at("judged");
  ASSERT_EQ(judged.size(), 2U) << ran.out;
  EXPECT_EQ(judged[1].at("standing"), "skipped");
  EXPECT_EQ(ran.json().at("first").size(), 2U);
  const auto same = project.dent({"bisect", "HEAD~2", "HEAD~2"});
  EXPECT_EQ(same.code, 2) << same.out << same.err;
  EXPECT_NE(same.err.find("is not slower"), std::string::npos) << same.err;
}

// "Not slower" may only be said of commits that were measured.
TEST(BisectCommand, EndsWithTheVerdictOfTwoThatCanNotBeCompared) {
  const Committed project;
  project.commit_kernel("right", "right");
  project.commit_kernel("wrong", "wrong");
  const auto ran = project.dent({"bisect", "HEAD~1", "HEAD"});
  EXPECT_EQ(ran.code, 5) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("not found out: INCORRECT"), std::string::npos) << ran.out << ran.err;
  const auto json = project.dent({"bisect", "HEAD~1", "HEAD", "--json", "-q"});
  EXPECT_EQ(json.json().at("exit_code"), 5) << json.out;
  EXPECT_EQ(json.json().at("first").size(), 0U) << json.out;
}

TrackedCommit tracked(std::optional<Ratio> ratio) {
  return {
      .commit = "c", .time = "t", .subject = "s", .ratio = ratio, .why = ratio ? "" : "it does not build"};
}
Ratio about(double centre) { return {centre, {centre / 1.005, centre * 1.005}}; }

TEST(ChangePoints, BeginANewStretch) {
  const std::vector commits{tracked(about(1)),     tracked(about(1.002)), tracked(about(1.3)),
                            tracked(std::nullopt), tracked(about(1.301)), tracked(about(1.1)),
                            tracked(about(1.1))};
  const auto found = change_points(commits, 0.01);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].at, 2U);
  EXPECT_EQ(found[0].since, 0U);
  EXPECT_EQ(found[0].verdict, SpeedVerdict::faster);
  EXPECT_EQ(found[1].at, 5U);
  EXPECT_EQ(found[1].since, 2U);
  EXPECT_EQ(found[1].verdict, SpeedVerdict::slower);
  EXPECT_NEAR(found[1].change.centre, 1.1 / 1.3, 1e-9);
}

// Ten steps of 0.5 %, each too small to be proved alone.
TEST(ChangePoints, FindWhatCreeps) {
  std::vector<TrackedCommit> commits;
  for (int i = 0; i < 10; ++i) commits.push_back(tracked(about(std::pow(0.995, i))));
  const auto found = change_points(commits, 0.01);
  ASSERT_FALSE(found.empty());
  EXPECT_GT(found.front().at, 1U);
  EXPECT_EQ(found.front().verdict, SpeedVerdict::slower);
}

TEST(ChangePoints, NoiseIsNone) {
  std::vector<TrackedCommit> commits;
  for (const double centre : {1.0, 1.02, 0.98, 1.01}) commits.push_back(tracked(Ratio{centre, {0.9, 1.1}}));
  EXPECT_TRUE(change_points(commits, 0.01).empty());
  EXPECT_TRUE(change_points({}, 0.01).empty());
}

TEST(TrackedCommits, ABusyMachineSettlesNothing) {
  TrackedCommit commit = tracked(about(1));
  EXPECT_FALSE(is_settled(commit));
  commit.verdict = Verdict::busy_machine;
  EXPECT_FALSE(is_settled(commit));
  for (const Verdict verdict : {Verdict::same, Verdict::slower, Verdict::build_failed, Verdict::incorrect}) {
    commit.verdict = verdict;
    EXPECT_TRUE(is_settled(commit));
  }
}

TEST(TrackedCommits, ABusyMachineIsTold) {
  std::vector commits{tracked(about(1)), tracked(about(0.5))};
  EXPECT_EQ(track_text(commits, {}).find("busy machine"), std::string::npos);
  commits[1].verdict = Verdict::busy_machine;
  EXPECT_NE(track_text(commits, {}).find("s: busy machine; "), std::string::npos) << track_text(commits, {});
}

TEST(Track, ListsTheCommitsThatTouchTheProject) {
  const Committed project;
  const std::string first = project.commit_kernel("right", "first");
  project.commit("touches nothing");
  const std::string second = project.commit_kernel("slow", "second");
  const Repository repository = project.repository();
  const auto touching = commits_to_track(repository, "", 10, false);
  ASSERT_EQ(touching.size(), 2U);
  EXPECT_EQ(touching[0].commit, first);
  EXPECT_EQ(touching[1].subject, "second");
  EXPECT_EQ(commits_to_track(repository, "", 10, true).size(), 3U);
  EXPECT_EQ(commits_to_track(repository, "", 1, true).front().commit, second);
  EXPECT_EQ(commits_to_track(repository, first, 10, false).front().commit, first);
  EXPECT_THROW(commits_to_track(repository, "nonsense", 10, false), Error);
}

TEST(Track, MeasuresEachCommitOnceAndMarksWhatBroke) {
  const Committed project;
  const std::string first = project.commit_kernel("right", "first");
  project.commit_kernel("slow", "ten times the <work>");
  project.commit_kernel("wrong", "breaks it");
  project.commit_kernel("right", "mends it");
  const test::Ran ran = project.dent({"track", "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto document = ran.json();
  EXPECT_EQ(document.at("reference"), first);
  const auto& commits = document.at("commits");
  ASSERT_EQ(commits.size(), 4U);
  EXPECT_EQ(commits[0].at("ratio").at("centre"), 1);
  EXPECT_NEAR(commits[1].at("ratio").at("centre").get<double>(), 0.2, 0.01);
  EXPECT_FALSE(commits[2].contains("ratio"));
  EXPECT_NE(commits[2].at("why").get<std::string>().find("wrong"), std::string::npos) << commits[2];
  EXPECT_EQ(commits[2].at("verdict"), "INCORRECT");
  const std::string page = text_of(document.at("report").get<std::string>());
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("ten times the &lt;work&gt;"), std::string::npos);
  EXPECT_EQ(page.find("<work>"), std::string::npos);

  // A wrong commit stays wrong, so it is not measured again.
  const test::Ran again = project.dent({"track"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.err.find("breaks it"), std::string::npos) << again.err;
  EXPECT_FALSE(std::filesystem::exists(project.folder() / ".git" / "worktrees"));
}

}  // namespace
}  // namespace dent::commits_test
