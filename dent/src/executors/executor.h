// SPDX-License-Identifier: MIT
// Where jobs are done: this machine, another by ssh, a cluster, whatever a launcher starts. One contract for
// all. An executor moves files and starts `dent job FOLDER`; it knows nothing of gates, and no gate knows
// where it runs.
//
// Every call may come again, from a coordinator that was killed in between: done twice is done once. What an
// executor needs to find its work again, it notes in the SentJob before it relies on it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "executors/job_table.h"
#include "project/project.h"

namespace dent {

// The other side can't be reached at the moment. Work that was started there goes on.
class Unreachable : public Error {
 public:
  explicit Unreachable(const std::string& what_happened, const std::string& remedy = {})
      : Error(ErrorCode::environment, what_happened, remedy) {}
};

// One line of a job's ledger, without its line end.
using TakeLine = std::function<void(std::string_view line)>;
using Say = std::function<void(const std::string& text)>;  // to who waits

class Executor {
 public:
  virtual ~Executor() = default;

  // "ready", or what keeps it from being so: for `dent executors`. Takes a few seconds at most.
  virtual std::string look() = 0;

  // The project's files, the program and the job's folder are there when it returns.
  virtual void copy_there(SentJob& sent) = 0;
  // Starts the job, or goes on with one that was interrupted. It lives on without us.
  virtual void start(SentJob& sent) = 0;
  // Every whole line of its ledger from the first on, as they come. Returns when no more will come: it has
  // ended or is lost, as state() says. Throws Unreachable when the connection is lost; call it again.
  virtual void follow(SentJob& sent, const TakeLine& take) = 0;
  virtual JobStatus state(SentJob& sent) = 0;
  // Returns when it is told, not when it has ended.
  virtual void cancel(SentJob& sent) = 0;
  // The job's artifacts, into that folder. What can't be had is left out.
  virtual void bring_back(SentJob& sent, const std::filesystem::path& artifacts) = 0;
};

// The project's own executors, and those of the user's config that it does not name as well; `local` is
// always there.
std::vector<ExecutorRules> known_executors(const Project& project);
// Throws Error naming those that there are.
ExecutorRules find_executor(const Project& project, const std::string& name);
// `say` is told what takes minutes.
std::unique_ptr<Executor> make_executor(
    const ExecutorRules& rules, const Project& project, Say say = [](const std::string&) {});

}  // namespace dent
