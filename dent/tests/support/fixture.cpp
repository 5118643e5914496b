// SPDX-License-Identifier: MIT
#include "support/fixture.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

extern char** environ;

namespace dent::test {

Fixture::Fixture(const std::string& program, const std::vector<std::string>& arguments) {
  int to[2], from[2];  // closed in every other child: its stdin ends when we do
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("no pipes");
  std::vector<std::string> words{"python3", "-B", std::string(TEST_FIXTURES) + "/" + program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  pid_t started = -1;
  const int problem = ::posix_spawnp(&started, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  to_ = to[1];
  from_ = from[0];
  if (problem != 0) {
    missing_ = "python3 is not installed";
    return;
  }
  process_ = started;
  for (std::string line = read_line(); line != "ready"; line = read_line()) {
    const std::size_t blank = line.find(' ');
    if (blank == std::string::npos) throw std::runtime_error(program + " says: " + line);
    if (line.starts_with("skip: ")) {
      missing_ = line.substr(blank + 1);
      return;
    }
    facts_[line.substr(0, blank)] = line.substr(blank + 1);
  }
}

Fixture::~Fixture() {
  ::close(to_);
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
  ::close(from_);
}

std::string Fixture::tell(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(to_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw std::runtime_error("the fixture is gone");
  const std::string answer = read_line();
  if (!answer.starts_with("ok")) throw std::runtime_error(line + ": " + answer);
  return answer.size() > 3 ? answer.substr(3) : "";
}

std::string Fixture::read_line() {
  for (;;) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    char bytes[4096];
    const ssize_t count = ::read(from_, bytes, sizeof bytes);
    if (count <= 0) throw std::runtime_error("the fixture has ended: " + unread_);
    unread_.append(bytes, static_cast<std::size_t>(count));
  }
}

}  // namespace dent::test
