// SPDX-License-Identifier: MIT
#include "system/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/stopwatch.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;
constexpr rlim_t kMostBytesPerFile = rlim_t{4} << 30;  // a child that prints for ever does not fill the disk
constexpr int kFirstPassed = 3;

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [key, value] : added) replaced = replaced || key == name;
    if (!replaced) result.push_back(text);
  }
  for (const auto& [key, value] : added) result.push_back(key + "=" + value);
  return result;
}

void limit(int resource, rlim_t most) {
  const rlimit value{most, most};
  setrlimit(static_cast<__rlimit_resource>(resource), &value);
}

// Between fork and exec: only calls that are safe there. Returns errno of what failed.
int become(const Command& command, pid_t parent, char* const* argv, char* const* env, int log,
           const char* directory) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return ESRCH;  // it died before the line above
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, kMostBytesPerFile);
  signal(SIGXFSZ, SIG_DFL);  // ignored in dent itself; a child that prints for ever must end
  if (command.hard_memory_limit && command.memory_bytes > 0) {
    limit(RLIMIT_DATA, static_cast<rlim_t>(command.memory_bytes));
  }
  if (*directory != '\0' && chdir(directory) != 0) return errno;
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) return errno;
  // First away from the numbers they are to get, so that none is overwritten; dup2 then drops close-on-exec.
  constexpr int kAway = 100;
  for (std::size_t i = 0; i < command.pass.size(); ++i) {
    if (dup2(command.pass[i], kAway + static_cast<int>(i)) < 0) return errno;
  }
  for (std::size_t i = 0; i < command.pass.size(); ++i) {
    if (dup2(kAway + static_cast<int>(i), kFirstPassed + static_cast<int>(i)) < 0) return errno;
    close(kAway + static_cast<int>(i));
  }
  execvpe(argv[0], argv, env);
  return errno;
}

std::mutex groups_mutex;
std::set<pid_t> groups;  // of live Processes

std::string signal_name(int number) {
  switch (number) {
    case SIGSEGV:
      return "SIGSEGV (a wild address)";
    case SIGBUS:
      return "SIGBUS (a wild address)";
    case SIGABRT:
      return "SIGABRT (abort or a failed assertion)";
    case SIGFPE:
      return "SIGFPE (an arithmetic error, such as division by zero)";
    case SIGILL:
      return "SIGILL (an instruction that this machine does not have)";
    case SIGKILL:
      return "SIGKILL (killed from outside; the system may have run out of memory)";
    case SIGXFSZ:
      return "SIGXFSZ (wrote more than 4 GiB into a file)";
    default:
      return "signal " + std::to_string(number);
  }
}

// What a process holds that is backed by no file; 0 when it is gone.
std::int64_t anonymous_bytes(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string key; status >> key;) {
    if (key == "RssAnon:") {
      std::int64_t kilobytes = 0;
      status >> kilobytes;
      return kilobytes * 1024;
    }
    status.ignore(1 << 12, '\n');
  }
  return 0;
}

}  // namespace

std::string describe(const Ending& ending) {
  switch (ending.kind) {
    case Ending::Kind::exited:
      return "exited with status " + std::to_string(ending.code);
    case Ending::Kind::signalled:
      return "died of " + signal_name(ending.code);
    case Ending::Kind::timed_out:
      return "was stopped at its time limit";
    case Ending::Kind::out_of_memory:
      return "was stopped at its memory limit";
  }
  return {};
}

Process::Process(const Command& command) : command_(command) {
  const int log = open(command.log.empty() ? "/dev/null" : command.log.c_str(),
                       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (log < 0) {
    throw Error(ErrorCode::environment, "can't write " + command.log.string() + ": " + std::strerror(errno));
  }
  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> variables = environment_with(command.environment);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> env = pointers(variables);
  const std::string directory = command.directory.string();
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0)
    throw Error(ErrorCode::environment, "can't make a pipe: too many open files");
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    const int problem = become(command, parent, argv.data(), env.data(), log, directory.c_str());
    if (write(report[1], &problem, sizeof problem) < 0) _exit(126);
    _exit(127);
  }
  close(report[1]);
  close(log);
  int problem = pid_ < 0 ? errno : 0;
  while (pid_ > 0 && read(report[0], &problem, sizeof problem) < 0 && errno == EINTR) {
  }
  close(report[0]);
  if (problem != 0) {
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    pid_ = -1;
    throw Error(ErrorCode::environment, "can't start " + command.argv.at(0) + ": " + std::strerror(problem),
                "check that it is installed and in PATH");
  }
  setpgid(pid_, pid_);  // as the child does: whoever comes first
  const std::lock_guard lock(groups_mutex);
  groups.insert(pid_);
}

Process::~Process() {
  if (pid_ > 0 && !ending_) kill(Ending::Kind::signalled);
  const std::lock_guard lock(groups_mutex);
  groups.erase(pid_);
}

bool Process::is_group(pid_t group) {
  const std::lock_guard lock(groups_mutex);
  return groups.contains(group);
}

std::vector<pid_t> Process::members(pid_t group) {
  std::vector<pid_t> members;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t process = std::atoi(entry.path().filename().c_str());
    if (process > 0 && getpgid(process) == group) members.push_back(process);
  }
  return members;
}

std::optional<Ending> Process::poll() {
  if (ending_) return ending_;
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) == pid_) {
    ::kill(-pid_, SIGKILL);  // what it left behind in its group
    ending_ = WIFSIGNALED(status) ? Ending{Ending::Kind::signalled, WTERMSIG(status)}
                                  : Ending{Ending::Kind::exited, WEXITSTATUS(status)};
  }
  return ending_;
}

Ending Process::wait(double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (std::chrono::microseconds nap{200};; nap = std::min(nap * 2, std::chrono::microseconds{20000})) {
    if (const auto ending = poll()) return *ending;
    if (Clock::now() >= end) return kill(Ending::Kind::timed_out);
    if (over_memory()) return kill(Ending::Kind::out_of_memory);
    std::this_thread::sleep_for(nap);
  }
}

Ending Process::kill(Ending::Kind why) {
  if (ending_) return *ending_;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);  // the group may not exist yet
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  ending_ = Ending{why, SIGKILL};
  return *ending_;
}

bool Process::over_memory() const {
  if (command_.memory_bytes <= 0 || ending_) return false;
  std::int64_t bytes = 0;
  // A limit that only its leader keeps is none: children would hold the memory.
  for (const pid_t member : members(pid_)) bytes += anonymous_bytes(member);
  return bytes > command_.memory_bytes;
}

void Process::pause() {
  if (!paused_ && !poll()) ::kill(-pid_, SIGSTOP);
  paused_ = true;
}

void Process::resume() {
  if (paused_ && !poll()) ::kill(-pid_, SIGCONT);
  paused_ = false;
}

std::string Process::last_words(std::size_t most) const {
  std::ifstream log(command_.log, std::ios::binary | std::ios::ate);
  if (!log) return {};
  const auto size = static_cast<std::size_t>(log.tellg());
  const std::size_t from = size > most ? size - most : 0;
  log.seekg(static_cast<std::streamoff>(from));
  std::string text(size - from, '\0');
  log.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

Finished run(const Command& command, double seconds) {
  const auto start = Clock::now();
  Process process(command);
  Finished finished;
  finished.ending = process.wait(seconds);
  finished.seconds = seconds_since(start);
  finished.output = process.last_words(64 * 1024);
  return finished;
}

}  // namespace dent
