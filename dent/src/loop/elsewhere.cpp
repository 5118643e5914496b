// SPDX-License-Identifier: MIT
#include "loop/elsewhere.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "executors/project_tree.h"
#include "session/environment.h"
#include "session/exit_code.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

ErrorCode error_code(int exit_code) {
  switch (static_cast<ExitCode>(exit_code)) {
    case ExitCode::internal:
      return ErrorCode::internal;
    case ExitCode::usage:
      return ErrorCode::invalid;
    case ExitCode::busy:
      return ErrorCode::busy;
    default:
      return ErrorCode::environment;
  }
}

bool can_go_on(const JobStatus& status) {
  return status.exit_code == static_cast<int>(ExitCode::interrupted);
}

std::string in_words(const SentJob& sent) {
  const JobStatus& status = sent.status();
  return fmt::format("job {} on {} is {} ({}){}", sent.job().id.substr(0, 8), sent.job().executor,
                     name(status.state), status.word, status.why.empty() ? "" : ": " + status.why);
}

void copy_file_to(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy(from, to, fs::copy_options::copy_symlinks | fs::copy_options::overwrite_existing);
}

// What is there is whole: prepared beside it, then given its name.
template <class Fill>
void make_once(const fs::path& folder, const Fill& fill) {
  if (fs::exists(folder)) return;
  const fs::path prepared = fs::path(folder) += ".new";
  fs::remove_all(prepared);
  fs::create_directories(prepared);
  fill(prepared);
  fs::rename(prepared, folder);
}

}  // namespace

Elsewhere::Elsewhere(const Project& project, SessionStore& store, Session& session,
                     const Repository& repository, const std::string& executor)
    : project_(project),
      store_(store),
      session_(session),
      repository_(repository),
      rules_(find_executor(project, executor)),
      tree_(store.folder() / "sent" / session.folder().id),
      there_(project) {
  git_ = environment_snapshot(project_.directory).git;
  there_.directory = repository.prefix().empty() ? tree_ : tree_ / repository.prefix();
  if (!rules_.machine) return;
  machine_.emplace(rules_);
  machine_->hold();
  machine_->bring_up([this](const std::string& text) { session_.say(text); });
  machine_->start_watcher(project_.directory);
}

fs::path Elsewhere::changes() const { return tree_ / kChangesFolder; }

void Elsewhere::lay_out(const std::string& base) {
  base_ = base;
  std::vector<std::string> busy{session_.folder().id};
  for (const SentJob& sent : JobTable(store_.folder()).list())
    if (!has_ended(sent.status().state)) busy.push_back(sent.job().session);
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(tree_.parent_path(), none)) {
    if (std::find(busy.begin(), busy.end(), entry.path().filename().string()) == busy.end())
      fs::remove_all(entry.path(), none);
  }
  make_once(tree_, [&](const fs::path& folder) {
    const Worktree whole(repository_, store_.folder() / "worktrees" / "base", base);
    copy_plain_tree(whole.folder(), folder);
    // A later loop's tree takes the place of this one on another machine.
    std::ofstream(folder / kTreeMarker) << "loops of " << fs::canonical(repository_.root()).string();
  });
}

void Elsewhere::add_changes(const std::string& commit, PartKernel& kernel) {
  if (commit == base_) return;
  const Worktree worktree(repository_, store_.folder() / "worktrees" / "sent", commit);
  add_changes(worktree, "commit-" + commit, kernel);
}

void Elsewhere::add_changes(const Worktree& worktree, const std::string& name, PartKernel& kernel) {
  const auto files = worktree.differing_from(base_);
  const auto is_there = [&](const std::string& file) {
    return fs::exists(fs::symlink_status(worktree.folder() / file));
  };
  for (const std::string& file : files)
    if (!is_there(file)) kernel.removed.push_back(file);
  kernel.changes = name;
  make_once(changes() / name, [&](const fs::path& folder) {
    for (const std::string& file : files)
      if (is_there(file)) copy_file_to(worktree.folder() / file, folder / file);
    std::ofstream(folder / kTreeMarker) << name;  // an empty folder would not be sent
  });
}

void Elsewhere::forget_changes(const std::string& name) {
  std::error_code ignored;
  fs::remove_all(changes() / name, ignored);
}

void Elsewhere::forget_tree() {
  std::error_code ignored;
  fs::remove_all(tree_, ignored);
  fs::remove(tree_.parent_path(), ignored);  // unless another session has one
}

std::optional<SentJob> Elsewhere::find(const LoopPart& part) const {
  std::optional<SentJob> last;
  for (SentJob& sent : JobTable(store_.folder()).list()) {
    const Job& job = sent.job();
    if (job.session == session_.folder().id && job.part && job.part->name == part.name)
      last = std::move(sent);
  }
  return last;
}

bool Elsewhere::taken_in(const SentJob& sent) const {
  return std::any_of(session_.records().begin(), session_.records().end(), [&](const Record& record) {
    const auto* job = record.as<record::Job>();
    return job != nullptr && job->job == sent.job().id && job->state == JobState::succeeded;
  });
}

// One that was cancelled, or ended without having done its part and can't go on, is not the last word: what
// kept it may have been mended.
SentJob Elsewhere::sent(const LoopPart& part) {
  auto known = find(part);
  const bool useless = known && has_ended(known->status().state) &&
                       known->status().state != JobState::succeeded &&
                       (!can_go_on(known->status()) || known->status().state == JobState::cancelled);
  if (known && !useless) return *std::move(known);
  SentJob created = JobTable(store_.folder())
                        .create({.command = session_.facts().session().command,
                                 .project = there_.directory,
                                 .part = part,
                                 .setup = rules_.setup,
                                 .usd_per_hour = rules_.usd_per_hour,
                                 .cell = project_.sandbox == Sandbox::required,
                                 .git = git_,
                                 .executor = rules_.name,
                                 .session = session_.folder().id});
  if (machine_) machine_->expect(project_.directory, created.job());
  return created;
}

std::unique_ptr<Executor> Elsewhere::executor() {
  return make_executor(rules_, there_, [this](const std::string& text) { session_.say(text); });
}

void Elsewhere::send(const LoopPart& part) {
  SentJob job = sent(part);
  if (taken_in(job)) return;
  dent::send(*executor(), job);
  sent_.insert(job.job().id);
}

JobStatus Elsewhere::follow(Executor& to, SentJob& job) {
  ConductRules rules;
  if (machine_)
    rules.bring_up = [&] { return machine_->bring_up([&](const std::string& text) { session_.say(text); }); };
  JobStatus status = conduct(to, job, session_, {}, rules);
  if (machine_) machine_->book(project_, session_);
  return status;
}

void Elsewhere::see_through(const LoopPart& part, const std::function<void(const std::string&)>& lost) {
  SentJob job = sent(part);
  if (taken_in(job)) return;
  const auto to = executor();
  for (int attempt = 0; attempt < 2; ++attempt) {
    // One that was interrupted since it was sent is not started again behind anybody's back.
    if (attempt > 0 || sent_.insert(job.job().id).second) dent::send(*to, job);
    const JobStatus status = follow(*to, job);
    if (status.state == JobState::succeeded) return;
    if (!can_go_on(status)) {
      throw Error(error_code(status.exit_code.value_or(static_cast<int>(ExitCode::environment))),
                  in_words(job), "mend it and go on: dent resume " + session_.folder().id);
    }
    if (status.state != JobState::failed) throw Interrupted(in_words(job));
    session_.say(in_words(job));
  }
  lost("lost twice: " + in_words(job));
}

void Elsewhere::see_through_what_was_left() {
  for (SentJob& job : JobTable(store_.folder()).list()) {
    const auto& part = job.job().part;
    if (job.job().session != session_.folder().id || !part || part->kind == PartKind::evaluation) continue;
    const JobState known = job.status().state;
    if ((has_ended(known) && known != JobState::succeeded) || taken_in(job)) continue;
    const auto to = executor();
    if (sent_.insert(job.job().id).second) dent::send(*to, job);
    if (follow(*to, job).state != JobState::succeeded) session_.say(in_words(job));
  }
}

}  // namespace dent
