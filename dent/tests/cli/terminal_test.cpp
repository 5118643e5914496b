// SPDX-License-Identifier: MIT
// dent on a terminal: a narrow one, one that can't redraw a line, and one where somebody presses Ctrl-C.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>

#include <chrono>

#include "session/dent_program.h"

namespace dent::test::terminal_test {
namespace {

constexpr const char* kQuick =
    "[performance]\nprofile_below = 0.001\nseconds = 0.3\nsame_within = 0.5\nprecision = "
    "0.5\nbaseline_within = 20\n";

class OnATerminal {
 public:
  OnATerminal(const std::vector<std::string>& command, unsigned short columns, const char* kind) {
    winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    child_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (child_ == 0) {
      setenv("TERM", kind, 1);
      unsetenv("NO_COLOR");
      std::vector<char*> words;
      for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
      words.push_back(nullptr);
      execv(words[0], words.data());
      _exit(127);
    }
  }
  ~OnATerminal() {
    if (child_ > 0) {
      kill(child_, SIGKILL);
      waitpid(child_, nullptr, 0);
    }
    close(terminal_);
  }

  // All that it printed until `words` came, or until it ended.
  const std::string& read_until(const std::string& words = {}) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (std::chrono::steady_clock::now() < end) {
      if (!words.empty() && printed_.find(words) != std::string::npos) break;
      pollfd ready{terminal_, POLLIN, 0};
      if (poll(&ready, 1, 100) <= 0) continue;
      char buffer[4096];
      const ssize_t n = read(terminal_, buffer, sizeof buffer);
      if (n <= 0) break;  // the other end is closed
      printed_.append(buffer, static_cast<std::size_t>(n));
    }
    return printed_;
  }
  void press(char key) const { EXPECT_EQ(write(terminal_, &key, 1), 1); }
  int exit_code() {
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  int terminal_ = -1;
  pid_t child_ = -1;
  std::string printed_;
};

// The longest line that was drawn over, escape sequences aside.
std::size_t longest_redrawn(const std::string& printed) {
  std::size_t longest = 0, length = 0;
  bool drawn = false;
  for (std::size_t i = 0; i < printed.size(); ++i) {
    if (printed[i] == '\r' || printed[i] == '\n') {
      const bool stays = printed.compare(i, 2, "\r\n") == 0;
      if (drawn && !stays) longest = std::max(longest, length);
      length = 0;
      drawn = false;
    } else if (printed[i] == '\x1b') {
      while (i + 1 < printed.size() && std::isalpha(static_cast<unsigned char>(printed[i])) == 0) ++i;
      drawn = drawn || printed[i] == 'K';
    } else {
      ++length;
    }
  }
  return longest;
}

TEST(DentOnATerminal, DrawsNoLineThatWraps) {
  const ScratchProject project;
  project.write_scale_manifest("right", kQuick);
  OnATerminal dent(project.command({"run"}), 40, "xterm");
  const std::string printed = dent.read_until();
  EXPECT_NE(printed.find("\x1b[K"), std::string::npos) << printed;
  EXPECT_GT(longest_redrawn(printed), 10U) << printed;
  EXPECT_LT(longest_redrawn(printed), 40U) << printed;
  EXPECT_EQ(printed.find("95 % interval"), std::string::npos) << "a table of 80 columns\n" << printed;
  EXPECT_NE(printed.find("small: "), std::string::npos) << printed;
}

TEST(DentOnATerminal, ThatIsDumbGetsPlainLines) {
  const ScratchProject project;
  project.write_scale_manifest("right", kQuick);
  OnATerminal dent(project.command({"check"}), 80, "dumb");
  const std::string printed = dent.read_until();
  EXPECT_EQ(printed.find('\x1b'), std::string::npos) << printed;
  EXPECT_NE(printed.find("PASS"), std::string::npos) << printed;
  EXPECT_EQ(dent.exit_code(), 0);
}

TEST(DentOnATerminal, InterruptedSaysHowToGoOn) {
  const ScratchProject project;
  project.write_scale_manifest("hangs", "[limits]\ncall_seconds = 60\n");
  OnATerminal dent(project.command({"check"}), 80, "xterm");
  dent.read_until("seed 1");
  dent.press('\x03');  // Ctrl-C
  const std::string printed = dent.read_until();
  EXPECT_NE(printed.find("go on: dent resume -p '/"), std::string::npos) << printed;
  EXPECT_EQ(dent.exit_code(), 128 + SIGINT);
  // Nothing is left that works or locks: the session can go on.
  project.write_scale_manifest("hangs", "[limits]\ncall_seconds = 60\n");
  EXPECT_EQ(project.dent({"log"}).code, 0);
  EXPECT_NE(project.dent({"build", "-q"}).code, 12) << "another dent still works there";
}

}  // namespace
}  // namespace dent::test::terminal_test
