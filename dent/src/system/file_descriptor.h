// SPDX-License-Identifier: MIT
// A file descriptor that closes itself, and operating-system errors as dent's Error.
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>

namespace dent {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor();
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Opens with O_CLOEXEC, since workers must not inherit files that dent writes. Throws as `refuse` does.
FileDescriptor open_file(const std::filesystem::path& path, int flags, std::string_view purpose);

// Writes all bytes, or throws Error.
void write_all(int fd, std::string_view bytes, const std::filesystem::path& path);

// Throws Error (environment) for errno `error`: what could not be done, to which file, why, and the remedy.
[[noreturn]] void refuse(std::string_view purpose, const std::filesystem::path& path, int error);

}  // namespace dent
