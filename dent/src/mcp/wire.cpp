// SPDX-License-Identifier: MIT
#include "mcp/wire.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "records/json.h"

namespace dent::mcp {

Wire::Wire() {
  signal(SIGPIPE, SIG_IGN);  // a client that has gone away is the end of the input, not ours
  out_ = FileDescriptor(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!out_ || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    throw Error(ErrorCode::environment, "stdin, stdout and stderr must be open",
                "start dent mcp from an MCP client, or from a shell");
  }
}

std::optional<std::string> Wire::receive() {
  std::string line;
  bool cut = false;
  while (true) {
    const std::size_t end = buffer_.find('\n');
    line.append(buffer_, 0, std::min(end, buffer_.size()));
    buffer_.erase(0, end == std::string::npos ? buffer_.size() : end + 1);
    if (line.size() > kLongestJson) {
      line.clear();
      cut = true;
    }
    if (end != std::string::npos) return cut ? std::string() : line;
    char bytes[1 << 16];
    const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    buffer_.assign(bytes, static_cast<std::size_t>(got));
  }
}

void Wire::send(const nlohmann::json& message) {
  const std::string line = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  const std::lock_guard lock(sending_);
  try {
    write_all(out_.get(), line, "stdout");
  } catch (const Error&) {
  }
}

}  // namespace dent::mcp
