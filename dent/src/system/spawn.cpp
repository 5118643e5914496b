// SPDX-License-Identifier: MIT
#include "system/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "system/keeper.h"
#include "system/process.h"
#include "system/process_table.h"

namespace dent {
namespace {

constexpr rlim_t kMostBytesPerFile = rlim_t{4} << 30;  // so that a child's endless output can't fill the disk
constexpr int kFirstPassed = 3, kAway = 100, kChannel = 150;  // descriptors in a child

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_of(const Command& command) {
  std::vector<std::string> result;
  for (char** entry = environ; !command.only_that_environment && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [key, value] : command.environment) replaced = replaced || key == name;
    if (!replaced) result.push_back(text);
  }
  for (const auto& [key, value] : command.environment) result.push_back(key + "=" + value);
  return result;
}

void limit(int resource, rlim_t most) {
  const rlimit value{most, most};
  setrlimit(static_cast<__rlimit_resource>(resource), &value);
}

// Sent by the child before exec: at most one message with a listener, and at most one with an error.
struct Message {
  int error = 0;
};

void say(int channel, int error, int listener = -1) {
  Message message{error};
  iovec part{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (listener >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* with = CMSG_FIRSTHDR(&header);
    with->cmsg_level = SOL_SOCKET;
    with->cmsg_type = SCM_RIGHTS;
    with->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(with), &listener, sizeof listener);
  }
  if (sendmsg(channel, &header, MSG_NOSIGNAL) < 0) _exit(126);
}

// Reads messages until exec closes the channel. Returns the error, or 0.
int hear(int channel, FileDescriptor& listener) {
  for (;;) {
    Message message;
    iovec part{&message, sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t n = recvmsg(channel, &header, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return 0;
    if (message.error != 0) return message.error;
    if (const cmsghdr* with = CMSG_FIRSTHDR(&header); with != nullptr && with->cmsg_type == SCM_RIGHTS) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(with), sizeof descriptor);
      listener = FileDescriptor(descriptor);
    }
  }
}

// Closes, at exec, descriptors that we inherited and did not open with O_CLOEXEC, such as a terminal or a
// pipe on which another program reads our output.
void close_others_on_exec(int first) {
#ifdef SYS_close_range
  constexpr unsigned kCloseOnExec = 4;  // CLOSE_RANGE_CLOEXEC
  if (syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, kCloseOnExec) == 0) return;
#endif
  for (int fd = first; fd < 1024; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);  // Linux before 5.11
}

// Runs between fork and exec, so only with async-signal-safe calls. Returns errno of the call that failed.
int become(const Command& command, pid_t parent, char* const* argv, char* const* env, int log,
           const char* directory, int channel, std::span<const int> doors, int keeper) {
  // In its own session it has no terminal to write to, and no process can join another's group, where it
  // would be stopped and continued together with that group.
  if (!command.confined || setsid() < 0) setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (keeper >= 0 && !keep_group(keeper, getpid())) return errno;
  if (getppid() != parent) return ESRCH;  // the parent died before prctl took effect
  for (const int door : doors) {
    if (write(door, "0", 1) != 1) return errno;
  }
  limit(RLIMIT_CORE, 0);
  if (command.most_processes > 0) limit(RLIMIT_NPROC, static_cast<rlim_t>(command.most_processes));
  limit(RLIMIT_FSIZE, command.file_bytes > 0 ? static_cast<rlim_t>(command.file_bytes) : kMostBytesPerFile);
  signal(SIGXFSZ, SIG_DFL);  // dent ignores it; a child that exceeds its file limit must end
  if (command.hard_memory_limit && command.memory_bytes > 0) {
    limit(RLIMIT_DATA, static_cast<rlim_t>(command.memory_bytes));
  }
  if (*directory != '\0' && chdir(directory) != 0) return errno;
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) return errno;
  // First moves them out of the way so that no target number overwrites a source; dup2 clears close-on-exec.
  for (std::size_t i = 0; i < command.pass.size(); ++i) {
    if (dup2(command.pass[i], kAway + static_cast<int>(i)) < 0) return errno;
  }
  for (std::size_t i = 0; i < command.pass.size(); ++i) {
    if (dup2(kAway + static_cast<int>(i), kFirstPassed + static_cast<int>(i)) < 0) return errno;
  }
  close_others_on_exec(kFirstPassed + static_cast<int>(command.pass.size()));
  if (command.confined) {
    const pid_t self = command.cell.empty() ? getpid() : kProgramInCell;
    if (const int listener = confine_myself(self); listener >= 0) say(channel, 0, listener);
  }
  execvpe(argv[0], argv, env);
  return errno;
}

}  // namespace

Spawned spawn(const Command& command) {
  const FileDescriptor log(open(command.log.empty() ? "/dev/null" : command.log.c_str(),
                                O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log) refuse("can't write", command.log, errno);
  std::vector<std::string> arguments = command.cell;
  arguments.insert(arguments.end(), command.argv.begin(), command.argv.end());
  std::vector<std::string> variables = environment_of(command);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> env = pointers(variables);
  const std::string directory = command.directory.string();
  const std::span<const int> doors =
      command.limits ? std::span(command.limits->doors()) : std::span<const int>();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(ErrorCode::environment, "can't create a socket pair: too many open files",
                "raise the limit (ulimit -n) or close other programs");
  const FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  const pid_t parent = getpid();
  const int cells_keeper = command.cell.empty() ? -1 : keeper();
  Spawned spawned;
  spawned.process = fork();
  if (spawned.process == 0) {
    const int away = fcntl(theirs.get(), F_DUPFD_CLOEXEC, kChannel);
    say(away, become(command, parent, argv.data(), env.data(), log.get(), directory.c_str(), away, doors,
                     cells_keeper));
    _exit(127);
  }
  const int forked = errno;
  theirs = {};  // so that reading ends when the program begins
  const int problem = spawned.process < 0 ? forked : hear(ours.get(), spawned.listener);
  if (problem == 0) return spawned;
  if (spawned.process > 0) waitpid(spawned.process, nullptr, 0);
  if (spawned.process > 0 && cells_keeper >= 0) drop_group(cells_keeper, spawned.process);
  throw Error(ErrorCode::environment, "can't start " + command.argv.at(0) + ": " + std::strerror(problem),
              "check that it is installed and in PATH");
}

}  // namespace dent
