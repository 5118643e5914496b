// SPDX-License-Identifier: MIT
// dent track: how fast was the kernel at each commit, and where did that change?
#include "commits/track.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "commits/measure_commit.h"
#include "ledger/project_lock.h"
#include "project/manifest.h"
#include "session/supervise.h"
#include "system/durable_file.h"
#include "workers/device_id.h"

namespace dent::cli {
namespace {

struct TrackArguments {
  Common common;
  std::string from;
  int most = 20;
  std::vector<std::string> shapes;
  bool everywhere = false;
};

// Everything that a measurement depends on, besides the commit. `most` decides how wide its intervals are.
std::string key_of(const Project& project, const TrackArguments& arguments, const std::string& reference) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", reference, effective_config(project),
                     device_id(project.kernel.device), fmt::join(arguments.shapes, ","), arguments.most);
}

// The first commit of the last time, while HEAD has it among its ancestors: what was measured against it
// still counts.
std::string first_of_last_time(const Repository& repository, const std::filesystem::path& file) {
  const std::string commit = trimmed(text_of(file));
  if (commit.empty() || !repository.has(commit)) return {};
  return repository.try_git({"merge-base", "--is-ancestor", commit, "HEAD"}).ok() ? commit : "";
}

void take(TrackedCommit& commit, const MeasuredCommit& measured) {
  commit.verdict = measured.end.verdict;
  commit.session = measured.session.id;
  commit.ratio = measured.session.mean();
  commit.busy = measured.session.summary && measured.session.summary->busy;
  for (const record::Comparison& shape : measured.session.comparisons)
    commit.shapes.push_back({shape.shape, shape.ratio});
  if (!commit.ratio) commit.why = measured.end.reason;
}

ExitCode track(const TrackArguments& arguments) {
  Project project = read_project(arguments.common.project);
  run_supervised("dent track goes on where it was", [&] { remove_worktrees(project.directory); });
  SessionStore store(project.directory);
  const ProjectLock lock(store.prepare());
  const Repository repository(project.directory, store.folder(), kManifestName);
  const auto remembered = store.folder() / "track" / "first";
  auto commits = commits_to_track(
      repository, arguments.from.empty() ? first_of_last_time(repository, remembered) : arguments.from,
      arguments.most, arguments.everywhere);
  const std::string reference = commits.front().commit;
  // One chance in twenty for all commits together that a change is seen where there is none.
  project.performance.alpha /= arguments.most;
  const TrackBook book(store.folder(), key_of(project, arguments, reference));
  write_durably(remembered, reference + "\n");
  std::optional<CommittedProject> first;
  commits.front().ratio = Ratio{1, {1, 1}};  // by itself
  for (std::size_t i = 1; i < commits.size(); ++i) {
    TrackedCommit& commit = commits[i];
    if (const auto known = book.find(commit.commit)) {
      commit = *known;
      continue;
    }
    if (!arguments.common.quiet)
      std::fputs(
          fmt::format("[{}/{}] {:.9} {}\n", i + 1, commits.size(), commit.commit, commit.subject).c_str(),
          stderr);
    try {
      if (!first) first.emplace(repository, store.folder() / "worktrees" / "first", reference);
    } catch (const Error& problem) {
      throw Error(problem.code(), problem.in_one_line(), "begin with a later commit: dent track FROM");
    }
    Audience audience(arguments.common);
    try {
      take(commit,
           measure_commit(project, store, repository, *first,
                          {"track", commit.commit, reference, arguments.shapes, project.performance.seconds},
                          audience));
    } catch (const Error& problem) {
      commit.why = problem.in_one_line();
    }
    if (is_settled(commit)) book.put(commit);
  }
  for (const TrackedCommit& commit : commits) {
    if (!commits.front().shapes.empty() || commit.shapes.empty()) continue;
    for (const TrackedShape& shape : commit.shapes)
      commits.front().shapes.push_back({shape.shape, commits.front().ratio});
  }
  const double same_within = project.performance.same_within;
  const auto changes = change_points(commits, same_within);
  const auto page = store.folder() / "track" / "report.html";
  write_durably(page, track_page(project.name, commits, changes, same_within));
  if (arguments.common.json) {
    JsonList list;
    for (const ChangePoint& change : changes)
      list.add(JsonObject{{"commit", commits[change.at].commit},
                          {"since", commits[change.since].commit},
                          {"change", change.change},
                          {"verdict", name(change.verdict)}});
    print_json(
        "track",
        {{"reference", reference}, {"commits", commits}, {"changes", list}, {"report", page.string()}});
  } else {
    std::fputs((track_text(commits, changes) + "report: " + page.string() + "\n").c_str(), stdout);
  }
  return ExitCode::ok;
}

}  // namespace

void add_track(Command& dent) {
  auto arguments = std::make_shared<TrackArguments>();
  Command& command =
      dent.command("track", "How fast was the kernel at each commit, and where did that change?");
  add_common(command, arguments->common);
  command.option("from", arguments->from,
                 "The first commit, which the others are measured against; default: by -n");
  command.option("-n,--most", arguments->most, "Commits, the newest").between(2, 1000).show_default();
  command.option("-s,--shape", arguments->shapes, "Only this shape (may be given several times)");
  command.flag("--everywhere", arguments->everywhere,
               "Also commits that touch nothing in the project's folder");
  command.examples("  dent track\n  dent track v1.2 --shape large\n  dent track -n 50 --json | jq .changes");
  command.run([arguments] { return track(*arguments); });
}

}  // namespace dent::cli
