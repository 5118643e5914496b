// SPDX-License-Identifier: MIT
#include "session/supervise.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "ledger/project_lock.h"
#include "ledger/session_store.h"
#include "project/manifest.h"
#include "repository/repository.h"
#include "session/exit_code.h"

namespace dent {
namespace {

constexpr std::array kInterruptions{SIGINT, SIGTERM, SIGHUP, SIGUSR1};

volatile sig_atomic_t child = 0;  // while it lives
volatile sig_atomic_t interruption = 0;

void end_child(int signal) {
  interruption = signal;
  if (child != 0) ::kill(static_cast<pid_t>(child), SIGKILL);
}

int exit_code_of(int signal) {
  return signal == SIGTERM || signal == SIGUSR1 ? static_cast<int>(ExitCode::interrupted) : 128 + signal;
}

[[noreturn]] void leave(int code, const std::function<void(int)>& at_end) {
  try {
    if (at_end) at_end(code);
  } catch (const std::exception& problem) {
    std::fputs(fmt::format("error: {}\n", problem.what()).c_str(), stderr);
  }
  _exit(code);
}

[[noreturn]] void watch(pid_t pid, const std::string& how_to_go_on, const std::function<void()>& tidy_up,
                        const std::function<void(int)>& at_end, const sigset_t& before) {
  child = pid;
  struct sigaction action {};
  action.sa_handler = end_child;
  for (const int signal : kInterruptions) sigaction(signal, &action, nullptr);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  child = 0;
  if (WIFEXITED(status)) leave(WEXITSTATUS(status), at_end);
  const int why = interruption != 0 ? interruption : WTERMSIG(status);
  for (const int signal : kInterruptions) ::signal(signal, SIG_IGN);  // the rest takes a moment
  std::fputs(
      fmt::format("\nstopped by signal {} ({}); go on: {}\n", why, strsignal(why), how_to_go_on).c_str(),
      stderr);
  if (tidy_up) tidy_up();
  leave(exit_code_of(why), at_end);
}

}  // namespace

void remove_worktrees(const std::filesystem::path& project) {
  try {
    SessionStore store(project);
    const ProjectLock lock(store.folder());  // another dent that works here by now does it itself
    Repository(project, store.folder(), kManifestName).remove_worktrees(store.folder() / "worktrees");
  } catch (const std::exception& problem) {
    std::fputs(fmt::format("its worktrees are left to the next loop: {}\n", problem.what()).c_str(), stderr);
  }
}

void run_supervised(const std::string& how_to_go_on, const std::function<void()>& tidy_up,
                    const std::function<void(int)>& at_end) {
  sigset_t interruptions, before;
  sigemptyset(&interruptions);
  for (const int signal : kInterruptions) sigaddset(&interruptions, signal);
  sigprocmask(SIG_BLOCK, &interruptions, &before);  // none may come before it is known whom to end
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0)
    throw Error(ErrorCode::environment, std::string("can't start a process: ") + std::strerror(errno));
  if (pid > 0) watch(pid, how_to_go_on, tidy_up, at_end, before);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(128 + SIGKILL);  // it died before the line above
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace dent
