// SPDX-License-Identifier: MIT
#include "commits/track.h"

#include <fmt/format.h>

#include <sstream>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "commits/committed_project.h"
#include "records/json.h"
#include "system/durable_file.h"

namespace dent {

void fields(Fields& f, TrackedShape& shape) {
  f("shape", shape.shape, "its name");
  f("ratio", shape.ratio, "of its speed to the first commit's");
}

void fields(Fields& f, TrackedCommit& commit) {
  f("commit", commit.commit, "its full name");
  f("time", commit.time, "of its author");
  f("subject", commit.subject, "of its message");
  f("ratio", commit.ratio, "of its speed to the first commit's, mean over shapes");
  f.may("shapes", commit.shapes, "each of them");
  f("verdict", commit.verdict, "of its session");
  f.may("busy", commit.busy, "whether the machine was busy meanwhile: the intervals are widened by that");
  f.may("why", commit.why, "there is no ratio");
  f.may("session", commit.session, "that measured it");
}

bool is_settled(const TrackedCommit& commit) {
  if (commit.verdict == Verdict::busy_machine || commit.verdict == Verdict::environment) return false;
  return commit.verdict.has_value() && commit.verdict != Verdict::interrupted &&
         commit.verdict != Verdict::budget;
}

std::vector<TrackedCommit> commits_to_track(const Repository& repository, const std::string& from, int most,
                                            bool everywhere) {
  const std::string first = from.empty() ? "" : commit_named(repository, from);
  commit_named(repository, "HEAD");
  std::vector<std::string> words{"log", "--first-parent",     "--format=%H%x09%aI%x09%s",
                                 "-n",  std::to_string(most), first.empty() ? "HEAD" : first + "..HEAD"};
  if (!everywhere) words.insert(words.end(), {"--", ":(top)" + repository.prefix().string()});
  std::string listed = repository.git(words).out;
  if (!first.empty()) listed += repository.git({"log", "-1", "--format=%H%x09%aI%x09%s", first}).out;
  std::vector<TrackedCommit> commits;
  std::istringstream lines(listed);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t time = line.find('\t'), subject = line.find('\t', time + 1);
    if (subject == std::string::npos) continue;
    commits.insert(commits.begin(), {.commit = line.substr(0, time),
                                     .time = line.substr(time + 1, subject - time - 1),
                                     .subject = line.substr(subject + 1)});
  }
  if (commits.empty()) {
    throw Error(ErrorCode::invalid, "no commit touches this project",
                "commit it; or, where its sources lie elsewhere in the repository: dent track --everywhere");
  }
  return commits;
}

std::vector<ChangePoint> change_points(std::span<const TrackedCommit> commits, double same_within) {
  std::vector<ChangePoint> found;
  std::optional<std::size_t> since;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    if (!commits[i].ratio) continue;
    if (!since) {
      since = i;
      continue;
    }
    const Ratio ratio = change(*commits[*since].ratio, *commits[i].ratio);
    const SpeedVerdict verdict = judge(ratio, same_within);
    if (verdict != SpeedVerdict::faster && verdict != SpeedVerdict::slower) continue;
    found.push_back({i, *since, ratio, verdict});
    since = i;
  }
  return found;
}

TrackBook::TrackBook(const std::filesystem::path& dent_folder, const std::string& key)
    : folder_(dent_folder / "track" / sha256(key).substr(0, 16)) {
  create_folder_durably(dent_folder / "track");
  create_folder_durably(folder_);
}

std::optional<TrackedCommit> TrackBook::find(const std::string& commit) const {
  const auto text = read_text(folder_ / (commit + ".json"));
  if (!text) return std::nullopt;
  return from_json_text<TrackedCommit>(*text);
}

void TrackBook::put(const TrackedCommit& commit) const {
  write_durably(folder_ / (commit.commit + ".json"), to_json_text(commit) + "\n");
}

}  // namespace dent
