// SPDX-License-Identifier: MIT
#include "system/file_descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace dent {
namespace {

std::string remedy_for(int error, const std::filesystem::path& path) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return fmt::format(
          "free some space on the disk of {} (df -h, quota), then go on (a session: `dent resume`)",
          path.string());
    case EFBIG:
      return "raise the limit on the size of a file (ulimit -f), then `dent resume`";
    case EROFS:
    case EACCES:
    case EPERM:
      return fmt::format("make {} writable for this user, or run dent on a copy of the project",
                         path.parent_path().string());
    default:
      return {};
  }
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileDescriptor open_file(const std::filesystem::path& path, int flags, std::string_view purpose) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (fd < 0) refuse(purpose, path, errno);
  return FileDescriptor(fd);
}

void write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      refuse("can't write to", path, errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void refuse(std::string_view purpose, const std::filesystem::path& path, int error) {
  throw Error(ErrorCode::environment, fmt::format("{} {}: {}", purpose, path.string(), std::strerror(error)),
              remedy_for(error, path));
}

}  // namespace dent
