// SPDX-License-Identifier: MIT
#include "system/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>

#include "system/file_descriptor.h"
#include "system/strays.h"

namespace dent {
namespace {

constexpr int kDescriptorsOfDent = 1024;
constexpr std::size_t kMostGroups = 4096;

struct GroupWord {  // short enough for atomic pipe writes, so messages do not mix
  pid_t group = 0;
  bool keep = false;
};

// Runs in the keeper. Must not allocate: another thread of the parent may have held the allocator's lock at
// fork.
[[noreturn]] void keep_until_the_end(int words) {
  setsid();  // so that signals to the parent's group don't reach it
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE}) ::signal(signal, SIG_IGN);
  for (int fd = 0; fd < kDescriptorsOfDent; ++fd) {
    if (fd != words) close(fd);  // readers of dent's pipes must see end-of-file when dent ends
  }
  if (chdir("/") != 0) _exit(1);
  static std::array<pid_t, kMostGroups> groups{};
  for (GroupWord word;;) {
    const ssize_t n = read(words, &word, sizeof word);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof word) break;  // end-of-file: all writers have ended
    pid_t* place = nullptr;
    for (pid_t& group : groups) {
      if (group == (word.keep ? 0 : word.group)) place = &group;
    }
    if (place != nullptr) *place = word.keep ? word.group : 0;
  }
  for (const pid_t group : groups) {
    if (group > 0) ::kill(-group, SIGKILL);
  }
  _exit(0);
}

FileDescriptor start_keeper() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  FileDescriptor words(ends[0]), ours(ends[1]);
  const OrphansLetGo not_ours;  // so that the keeper is not taken for an orphan of a kernel
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    if (fork() == 0) keep_until_the_end(ends[0]);
    _exit(0);
  }
  if (child < 0) return {};
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return ours;
}

bool tell_keeper(int keeper, const GroupWord& word) {
  ssize_t n = -1;
  while ((n = write(keeper, &word, sizeof word)) < 0 && errno == EINTR) {
  }
  return n == sizeof word;
}

}  // namespace

int keeper() {
  static std::mutex mutex;
  static FileDescriptor ours;
  static pid_t whose = 0;
  const std::lock_guard lock(mutex);
  if (whose != getpid()) {  // after a fork, the parent's keeper watches the parent only
    ours = start_keeper();
    whose = getpid();
  }
  return ours.get();
}

bool keep_group(int keeper, pid_t group) { return tell_keeper(keeper, {group, true}); }
void drop_group(int keeper, pid_t group) { tell_keeper(keeper, {group, false}); }

}  // namespace dent
