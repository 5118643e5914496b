// SPDX-License-Identifier: MIT
// A loop's parts as jobs of an executor. Each is sent once and taken in once, whoever is killed in between: a
// part's job is found again by the session and the part's name.
//
// The tree that the loop began with lies in .dent/sent/<session>, for as long as the session lasts. A job
// brings it along with the files in which its kernels differ; trees of candidates are made from both where
// the job is done.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "evaluation/part.h"
#include "executors/conduct.h"
#include "executors/job_watch.h"
#include "executors/machine.h"
#include "repository/worktree.h"
#include "session/session.h"

namespace dent {

// A part was stopped from outside before its end. The loop can go on from there.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Elsewhere {
 public:
  // Holds references to all of them. Throws Error where there is no such executor, or where its machine does
  // not start.
  Elsewhere(const Project& project, SessionStore& store, Session& session, const Repository& repository,
            const std::string& executor);

  // The tree of that commit, and nothing of sessions whose jobs have all ended.
  void lay_out(const std::string& base);
  // What a commit, or a worktree with a candidate in it, has in the place of the base's files. `name`: of its
  // own in the session.
  void add_changes(const std::string& commit, PartKernel& kernel);
  void add_changes(const Worktree& worktree, const std::string& name, PartKernel& kernel);
  void forget_changes(const std::string& name);

  // On its way: sent, unless it was before.
  void send(const LoopPart& part);
  // Its records are in the session when this returns; `lost` is called, with the reason, where it was lost
  // twice on its way. Throws Interrupted; Error for a job that could not be done.
  void see_through(const LoopPart& part, const std::function<void(const std::string&)>& lost);
  // The same for jobs whose end is not on record: a loop that was killed behind the last record of a part of
  // the incumbent does not come to that part again, and its artifacts would stay there. One that has not
  // succeeded is mentioned: its part is done with, or comes again.
  void see_through_what_was_left();

  void forget_tree();  // the session is over
  const ExecutorRules& rules() const { return rules_; }
  // Tells who watches the session what runs where, from now on.
  void watch() {
    watch_.emplace(rules_, there_, store_.folder(), session_.folder().id,
                   [this](const std::vector<Running>& all) { session_.say(all); });
  }

 private:
  std::unique_ptr<Executor> executor();
  std::filesystem::path changes() const;
  std::optional<SentJob> find(const LoopPart& part) const;
  SentJob sent(const LoopPart& part);
  bool taken_in(const SentJob& sent) const;
  JobStatus follow(Executor& to, SentJob& job);  // to where it is now

  const Project& project_;
  SessionStore& store_;
  Session& session_;
  const Repository& repository_;
  ExecutorRules rules_;
  std::filesystem::path tree_;
  Project there_;  // the project as it lies in the tree
  std::string base_;
  std::set<std::string> sent_;      // jobs, by this process
  std::optional<record::Git> git_;  // state of the user's repository
  std::optional<Machine> machine_;
  std::optional<JobWatch> watch_;  // the first to go
};

}  // namespace dent
