// SPDX-License-Identifier: MIT
#include "system/line_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace dent {

LineFile::LineFile() : file_(memfd_create("dent-lines", MFD_CLOEXEC)) {
  if (!file_)
    throw Error(ErrorCode::environment,
                fmt::format("can't create a file in memory (memfd_create): {}", std::strerror(errno)));
}

std::vector<std::string> LineFile::fresh() {
  char buffer[65536];
  for (ssize_t n = 0; (n = pread(file_.get(), buffer, sizeof buffer, at_)) > 0; at_ += n)
    unread_.append(buffer, static_cast<std::size_t>(n));
  std::vector<std::string> lines;
  for (std::size_t end = 0; (end = unread_.find('\n')) != std::string::npos; unread_.erase(0, end + 1))
    lines.push_back(unread_.substr(0, end));
  return lines;
}

}  // namespace dent
