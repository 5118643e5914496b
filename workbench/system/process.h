// SPDX-License-Identifier: MIT
// A child process in a group of its own, which ends with its parent, at its time limit or at its memory
// limit, and takes everything that it started along.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dent {

struct Command {
  std::vector<std::string> argv{};
  std::vector<std::pair<std::string, std::string>> environment{};  // added to ours
  std::filesystem::path directory{};                               // to run in; empty: ours
  std::filesystem::path log{};                                     // gets stdout and stderr
  std::int64_t memory_bytes = 0;  // anonymous memory of the whole group; 0: no limit
  bool hard_memory_limit =
      false;  // also by the kernel's own limit; not with sanitizers or a GPU, which map far more
  std::vector<int> pass{};  // descriptors that become 3, 4, 5, ... in the child
};

struct Ending {
  enum class Kind { exited, signalled, timed_out, out_of_memory };
  Kind kind = Kind::exited;
  int code = 0;  // exit status or signal

  bool clean() const { return kind == Kind::exited && code == 0; }
};
std::string describe(const Ending& ending);  // "died of SIGSEGV (a wild address)", "exited with status 3"

class Process {
 public:
  explicit Process(const Command& command);  // throws Error when the program can't be started
  ~Process();                                // kills the group
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return pid_; }
  static bool is_group(pid_t group);  // whether a live Process leads it
  static std::vector<pid_t> members(pid_t group);
  std::optional<Ending> poll();   // how it ended, or nothing while it runs
  Ending wait(double seconds);    // kills the group when the time is over
  Ending kill(Ending::Kind why);  // the whole group, now
  bool over_memory() const;       // whether it holds more than its limit
  void pause();                   // stops the group; nothing of it runs until resume()
  void resume();
  std::string last_words(std::size_t most = 2000) const;  // the end of the log

 private:
  Command command_;
  pid_t pid_ = -1;
  bool paused_ = false;
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
