// SPDX-License-Identifier: MIT
#include "system/streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace dent {
namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20;
constexpr double kEndWithin = 10;  // seconds that it may run after closing stdout

// Wraps the command in a shell that moves descriptors 3, 4 and 5 to stdin, stdout and stderr.
Command with_streams(Command command, const FileDescriptor& in, const FileDescriptor& out,
                     const FileDescriptor& err) {
  command.argv.insert(command.argv.begin(),
                      {"/bin/sh", "-c", "exec \"$@\" <&3 >&4 2>&5 3<&- 4>&- 5>&-", "sh"});
  command.pass = {in.get(), out.get(), err.get()};
  command.log.clear();
  return command;
}

}  // namespace

FileDescriptor in_memory(std::string_view content) {
  FileDescriptor file(memfd_create("dent", MFD_CLOEXEC));
  if (!file)
    throw Error(ErrorCode::environment,
                "can't create a file in memory (memfd_create): " + std::string(std::strerror(errno)));
  write_all(file.get(), content, "memory");
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string content_of(const FileDescriptor& file) {
  std::string text, buffer(std::size_t{1} << 16, '\0');
  for (;;) {
    const ssize_t n = pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (n <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

CommandAnswer ask(Command command, const FileDescriptor& input, double seconds) {
  const FileDescriptor out = in_memory(), err = in_memory();
  const Ending ending = run(with_streams(std::move(command), input, out, err), seconds).ending;
  return {ending, content_of(out), content_of(err)};
}

CommandAnswer ask(Command command, double seconds) { return ask(std::move(command), in_memory(), seconds); }

CommandAnswer follow(Command command, const std::function<void(std::string_view)>& take) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error(ErrorCode::environment, "can't create a pipe: " + std::string(std::strerror(errno)));
  const FileDescriptor ours(ends[0]), in = in_memory(), err = in_memory();
  FileDescriptor theirs(ends[1]);
  Process process(with_streams(std::move(command), in, theirs, err));
  theirs = {};
  std::string rest, buffer(std::size_t{1} << 16, '\0');
  for (ssize_t n = 0; (n = read(ours.get(), buffer.data(), buffer.size())) != 0;) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    rest.append(buffer.data(), static_cast<std::size_t>(n));
    std::size_t at = 0;
    for (std::size_t end = 0; (end = rest.find('\n', at)) != std::string::npos; at = end + 1)
      take(std::string_view(rest).substr(at, end - at));
    rest.erase(0, at);
    if (rest.size() > kLongestLine)
      throw Error(ErrorCode::environment, fmt::format("a line of more than {} MiB", kLongestLine >> 20));
  }
  const Ending ending = process.wait(kEndWithin);
  return {ending, {}, content_of(err)};
}

}  // namespace dent
