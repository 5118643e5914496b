// SPDX-License-Identifier: MIT
// A child process in its own group. It is killed together with everything that it started when its parent
// ends or when it reaches its time limit or memory limit.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "system/conditions.h"
#include "system/confinement.h"
#include "system/limited_group.h"

namespace dent {

struct Command {
  std::vector<std::string> argv{};
  std::vector<std::pair<std::string, std::string>> environment{};  // added to the parent's
  bool only_that_environment = false;                              // whether to drop the parent's environment
  std::filesystem::path directory{};                               // working directory; empty: the parent's
  std::filesystem::path log{};                                     // gets stdout and stderr
  std::int64_t file_bytes = 0;    // limit for each file that it writes; 0: the default in spawn.cpp
  std::int64_t memory_bytes = 0;  // limit for it and all it starts, without file pages; 0: none
  std::int64_t shared_bytes = 0;  // size of shared memory that it gets, which the limit excludes
  bool hard_memory_limit =
      false;  // also set RLIMIT_DATA; not with sanitizers or a GPU, which map far more than they use
  std::vector<int> pass{};  // descriptors that become 3, 4, 5, ... in the child; all others are closed
  bool confined = false;    // see confinement.h; without effect if the system can't confine
  // Bubblewrap with its arguments, placed before argv (cell/cell.h). Empty: no sandbox.
  std::vector<std::string> cell{};
  std::shared_ptr<LimitedGroup> limits{};  // group to join before exec
  std::int64_t most_processes = 0;         // RLIMIT_NPROC at its start; 0: no limit
};

struct Ending {
  enum class Kind { exited, signalled, timed_out, out_of_memory };
  Kind kind = Kind::exited;
  int code = 0;  // exit status or signal number
  std::optional<bool>
      system_out_of_memory{};  // whether the system killed any process for lack of memory meanwhile

  bool clean() const { return kind == Kind::exited && code == 0; }
};
std::string describe(const Ending& ending);  // "died of SIGSEGV (a wild address)", "exited with status 3"

class Process {
 public:
  explicit Process(const Command& command);  // throws Error when the program can't be started
  ~Process();                                // kills the group
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return pid_; }  // also the group's id
  // The program's process id. In a sandbox it differs from id(), which is bubblewrap's.
  pid_t program();
  static bool is_group(pid_t group);  // whether a live Process leads this group
  static std::vector<pid_t> members(pid_t group);
  std::optional<Ending> poll();   // the ending, or nothing while it runs
  Ending wait(double seconds);    // kills the group after `seconds`
  Ending kill(Ending::Kind why);  // kills the whole group now
  bool over_memory();             // whether it exceeds its memory limit
  void shorten_log() const;       // keeps only the end of a log that is too long, and notes that there

  // Stops the group: none of its threads runs until resume().
  void pause();
  // What happened to the group while it was paused; normally nothing.
  struct Disturbance {
    bool ran = false;  // it ran; if false, another process changed its conditions
    std::string what;
  };
  std::optional<Disturbance> resume();
  const Conditions& when_paused() const { return when_paused_; }
  // Whether it was stopped by another process or by itself.
  bool stopped();

  // Answers calls that the confined process waits with; returns the first one that was refused.
  std::optional<ConfinementSupervisor::Refused> trespass();
  // Readable while a call waits: call trespass().
  int waiting_calls() const { return supervisor_ ? supervisor_->descriptor() : -1; }
  std::string last_words(std::size_t most = 2000) const;  // the end of the log

 private:
  void take(int status);
  void let_go() const;
  void wait_until_stopped();
  bool in_cell() const { return !command_.cell.empty(); }

  Command command_;
  pid_t pid_ = -1;
  pid_t program_ = -1;             // once known
  std::int64_t oom_kills_ = -1;    // system-wide count when it started
  std::int64_t looked_at_ns_ = 0;  // when the memory of all its processes was last read
  bool paused_ = false;
  Conditions when_paused_;
  int awake_ = 0;  // how often it ran briefly while paused
  std::optional<ConfinementSupervisor> supervisor_;
  std::optional<Ending> ending_;
};

// Runs a command until it ends.
struct Finished {
  Ending ending;
  double seconds = 0;
  std::string output;  // the end of its log
};
Finished run(const Command& command, double seconds);

}  // namespace dent
