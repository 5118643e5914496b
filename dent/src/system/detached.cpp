// SPDX-License-Identifier: MIT
#include "system/detached.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "system/strays.h"

namespace dent {
namespace {

constexpr int kMostDescriptors = 1024, kKept = 3;

[[noreturn]] void become(char* const* argv, const char* directory, const char* log, int keep) {
  setsid();
  if (fork() != 0) _exit(0);
  const int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0644), in = open("/dev/null", O_RDONLY);
  if (out < 0 || in < 0 || chdir(directory) != 0) _exit(126);
  if (keep >= 0) keep = fcntl(keep, F_DUPFD, kMostDescriptors);  // so that dup2 below can't overwrite it
  dup2(in, 0);
  dup2(out, 1);
  dup2(out, 2);
  for (int fd = kKept; fd < kMostDescriptors; ++fd) close(fd);  // or their readers see no end
  if (keep >= 0) {
    dup2(keep, kKept);
    close(keep);
  }
  execvp(argv[0], argv);
  _exit(127);
}

}  // namespace

void start_detached(const std::vector<std::string>& argv, const std::filesystem::path& directory,
                    const std::filesystem::path& log, int keep) {
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const OrphansLetGo not_ours;  // so that an orphan of ours is not taken for one that a kernel started
  const pid_t child = fork();
  if (child < 0)
    throw Error(ErrorCode::environment,
                std::string("can't start a detached process: ") + std::strerror(errno));
  if (child == 0) become(words.data(), directory.c_str(), log.c_str(), keep);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace dent
