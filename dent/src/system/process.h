// SPDX-License-Identifier: MIT
// A child process in a group of its own, which ends with its parent, at its time limit or at its memory
// limit, and takes everything that it started along.
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
  std::vector<std::pair<std::string, std::string>> environment{};  // added to ours
  bool only_that_environment = false;                              // nothing of ours
  std::filesystem::path directory{};                               // to run in; empty: ours
  std::filesystem::path log{};                                     // gets stdout and stderr
  std::int64_t file_bytes = 0;    // of each file that it writes; 0: as many as a kernel may write
  std::int64_t memory_bytes = 0;  // of it and all that it starts, without files; 0: no limit
  std::int64_t shared_bytes = 0;  // memory that it is given to share, which does not count
  bool hard_memory_limit =
      false;  // also by the kernel's own limit; not with sanitizers or a GPU, which map far more
  std::vector<int> pass{};  // descriptors that become 3, 4, 5, ... in the child; it gets no others
  bool confined = false;    // see confinement.h; where the system can't do it, it runs all the same
  // Bubblewrap and its arguments, which go in front of argv; see cell/cell.h. Empty: no cell.
  std::vector<std::string> cell{};
  std::shared_ptr<LimitedGroup> limits{};  // that it is in from its first instruction
  std::int64_t most_processes = 0;         // of the user, when it starts another; 0: no limit of ours
};

struct Ending {
  enum class Kind { exited, signalled, timed_out, out_of_memory };
  Kind kind = Kind::exited;
  int code = 0;  // exit status or signal
  std::optional<bool>
      system_out_of_memory{};  // whether the system killed some process for that, since it was started

  bool clean() const { return kind == Kind::exited && code == 0; }
};
std::string describe(const Ending& ending);  // "died of SIGSEGV (a wild address)", "exited with status 3"

class Process {
 public:
  explicit Process(const Command& command);  // throws Error when the program can't be started
  ~Process();                                // kills the group
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return pid_; }  // leads the group
  // The program that was asked for. In a cell it is not id(): bubblewrap stands in front of it, twice.
  pid_t program();
  static bool is_group(pid_t group);  // whether a live Process leads it
  static std::vector<pid_t> members(pid_t group);
  std::optional<Ending> poll();   // how it ended, or nothing while it runs
  Ending wait(double seconds);    // kills the group when the time is over
  Ending kill(Ending::Kind why);  // the whole group, now
  bool over_memory();             // whether it holds more than its limit
  void shorten_log() const;  // drops all but the end of a log that has become too long, and says so there

  // Stops the group; nothing of it runs until resume().
  void pause();
  // What happened to it meanwhile, which should be nothing.
  struct Disturbance {
    bool ran = false;  // it woke up; else someone changed its conditions
    std::string what;
  };
  std::optional<Disturbance> resume();
  const Conditions& when_paused() const { return when_paused_; }
  // Stopped by someone else, or by itself.
  bool stopped();

  // Answers what the confined process asks for; the first call that was refused, if any.
  std::optional<ConfinementSupervisor::Refused> trespass();
  int waiting_calls() const { return supervisor_ ? supervisor_->descriptor() : -1; }  // readable: trespass()
  std::string last_words(std::size_t most = 2000) const;                              // the end of the log

 private:
  void take(int status);
  void let_go() const;
  void wait_until_stopped();
  bool in_cell() const { return !command_.cell.empty(); }

  Command command_;
  pid_t pid_ = -1;
  pid_t program_ = -1;             // once it is known
  std::int64_t oom_kills_ = -1;    // of the system, when it was started
  std::int64_t looked_at_ns_ = 0;  // when all of its processes were looked at, for their memory
  bool paused_ = false;
  Conditions when_paused_;
  int awake_ = 0;  // how often it has run a little while it was paused
  std::optional<ConfinementSupervisor> supervisor_;
  std::optional<Ending> ending_;
};

// Runs a command to its end.
struct Finished {
  Ending ending;
  double seconds = 0;
  std::string output;  // the end of its log
};
Finished run(const Command& command, double seconds);

}  // namespace dent
