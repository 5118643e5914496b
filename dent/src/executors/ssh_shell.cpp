// SPDX-License-Identifier: MIT
#include "executors/ssh_shell.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <sstream>

#include "base/text.h"
#include "executors/shell_words.h"
#include "system/streams.h"

namespace dent {
namespace {

// What a login shell's own files print comes before, so that an answer has a beginning; and ssh's exit code
// 255 may be the script's as well, so that it has an end.
constexpr std::int64_t kLongestAnswer = std::int64_t{1} << 30;  // bytes
constexpr std::string_view kBegin = "\ndent: the answer begins\n";
constexpr std::string_view kEnd = "\ndent: it ends with ";

// A short path that nobody else can write to: a socket's name may have 107 bytes.
std::string folder_for_sockets() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const std::string folder = fmt::format("{}/dent-{}", runtime != nullptr ? runtime : "/tmp", getuid());
  mkdir(folder.c_str(), 0700);
  struct stat there {};
  if (lstat(folder.c_str(), &there) != 0 || !S_ISDIR(there.st_mode) || there.st_uid != getuid() ||
      (there.st_mode & 0077) != 0 || folder.size() > 50)
    return {};
  return folder;
}

std::optional<int> end_in(std::string& out) {
  const std::size_t end = out.rfind(kEnd);
  if (end == std::string::npos) return std::nullopt;
  int code = 0;
  const char* number = out.data() + end + kEnd.size();
  if (std::from_chars(number, out.data() + out.size(), code).ec != std::errc()) return std::nullopt;
  out.resize(end);
  return code;
}

// The first line that says something.
std::string gist(const std::string& err) {
  std::istringstream lines(err);
  for (std::string line; std::getline(lines, line);) {
    const std::string text = trimmed(line);
    if (!text.empty() && !text.starts_with("Warning:") && !text.starts_with("mux_client")) return text;
  }
  return "no word from ssh";
}

}  // namespace

SshShell::SshShell(std::string host, std::string config)
    : host_(std::move(host)), config_(std::move(config)) {
  if (host_.empty() || host_.starts_with('-'))
    throw Error(ErrorCode::invalid, fmt::format("\"{}\" is no host", host_), "name one of your ssh config");
}

const std::vector<std::string>& SshShell::command() {
  if (!command_.empty()) return command_;
  std::vector<std::string> words{"ssh"};
  if (!config_.empty()) words.insert(words.end(), {"-F", config_});
  // What the user has set stays; these are for what is not set.
  std::vector<std::string> question = words;
  question.insert(question.end(), {"-G", "--", host_});
  const CommandAnswer asked = ask({.argv = question}, 20);
  if (!asked.ending.clean())
    throw Error(ErrorCode::environment, fmt::format("ssh -G {}: {}", host_, gist(asked.err)));
  const std::string set = "\n" + asked.out;
  const auto has = [&](const char* line) { return set.find("\n" + std::string(line)) != std::string::npos; };
  words.insert(words.end(), {"-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"});
  if (has("connecttimeout none")) words.insert(words.end(), {"-o", "ConnectTimeout=10"});
  if (has("serveraliveinterval 0\n"))
    words.insert(words.end(), {"-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=3"});
  const std::string sockets = folder_for_sockets();
  if (has("controlmaster false") && !sockets.empty()) {
    words.insert(words.end(), {"-o", "ControlMaster=auto", "-o", "ControlPath=" + sockets + "/%C", "-o",
                               "ControlPersist=60"});
  }
  command_ = std::move(words);
  return command_;
}

std::vector<std::string> SshShell::words(const std::string& script) {
  std::vector<std::string> all = command();
  const std::string whole =
      fmt::format("printf {}\n( {}\n)\nprintf {} $?", dent::quoted("\\ndent: the answer begins\\n"), script,
                  dent::quoted("\\ndent: it ends with %d\\n"));
  all.insert(all.end(), {"-T", "--", host_, "exec sh -c " + dent::quoted(whole)});
  return all;
}

void SshShell::explain(const std::string& err) const {
  if (err.find("HAS CHANGED") != std::string::npos) {
    std::string remedy;  // OpenSSH's own
    std::istringstream lines(err);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("ssh-keygen") != std::string::npos) remedy = trimmed(line);
    }
    throw Error(
        ErrorCode::environment,
        fmt::format("the key of host {} has changed since it was known here: another machine answers, "
                    "or it was set up anew",
                    host_),
        fmt::format("if that is expected: {}; then log in once by hand: ssh {}", remedy, host_));
  }
  if (err.find("host key is known for") != std::string::npos ||
      err.find("Host key verification failed") != std::string::npos) {
    throw Error(ErrorCode::environment, fmt::format("the key of host {} is not known here", host_),
                fmt::format("log in once by hand and compare the fingerprint: ssh {}", host_));
  }
  if (err.find("Permission denied") != std::string::npos) {
    throw Error(
        ErrorCode::environment, fmt::format("{} refuses the login: {}", host_, gist(err)),
        fmt::format("make `ssh {}` work without a password: ssh-add, or ssh-copy-id {}", host_, host_));
  }
  throw Unreachable(fmt::format("no connection to {}: {}", host_, gist(err)), "try it by hand: ssh " + host_);
}

SshShell::Answer SshShell::run(const std::string& script, std::string_view input, double seconds) {
  return run(script, in_memory(input), seconds);
}

SshShell::Answer SshShell::run(const std::string& script, const FileDescriptor& input, double seconds) {
  const CommandAnswer ran = ask({.argv = words(script), .file_bytes = kLongestAnswer}, input, seconds);
  if (ran.ending.kind == Ending::Kind::signalled && ran.ending.code == SIGXFSZ) {
    throw Error(ErrorCode::environment,
                fmt::format("{} has sent more than {} MiB in one answer", host_, kLongestAnswer >> 20));
  }
  Answer answer{0, ran.out, ran.err};
  const std::size_t begin = answer.out.find(kBegin);
  const auto code = end_in(answer.out);
  if (begin == std::string::npos || !code) {
    if (ran.ending.kind == Ending::Kind::timed_out)
      throw Unreachable(fmt::format("{} has not answered for {:.0f} s", host_, seconds));
    explain(answer.err);
  }
  answer.code = *code;
  answer.out.erase(0, begin + kBegin.size());
  return answer;
}

int SshShell::follow(const std::string& script, const TakeLine& take) {
  constexpr std::string_view begins = kBegin.substr(1, kBegin.size() - 2), ends = kEnd.substr(1);
  bool begun = false;
  std::optional<int> code;
  const CommandAnswer ran = dent::follow({.argv = words(script)}, [&](std::string_view line) {
    if (begun && line.starts_with(ends)) {
      code = 0;
      std::from_chars(line.data() + ends.size(), line.data() + line.size(), *code);
    } else if (begun && !line.empty()) {
      take(line);
    }
    begun = begun || line == begins;
  });
  if (!code) explain(ran.err);
  return *code;
}

}  // namespace dent
