// SPDX-License-Identifier: MIT
#include "system/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "system/file_descriptor.h"

namespace dent {

void write_durably(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path beside = path.string() + ".new." + std::to_string(::getpid());
  try {
    const FileDescriptor file = open_file(beside, O_WRONLY | O_CREAT | O_TRUNC, "can't create");
    write_all(file.get(), content, beside);
    if (::fsync(file.get()) != 0) refuse("can't sync", beside, errno);
    if (::rename(beside.c_str(), path.c_str()) != 0) refuse("can't put a new version of", path, errno);
  } catch (...) {
    ::unlink(beside.c_str());
    throw;
  }
  sync_folder(path.parent_path());
}

bool create_folder_durably(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), 0777) != 0) {
    if (errno == EEXIST) return false;
    refuse("can't create folder", folder, errno);
  }
  sync_folder(folder.parent_path());
  return true;
}

void sync_folder(const std::filesystem::path& folder) {
  const std::filesystem::path named = folder.empty() ? "." : folder;
  const FileDescriptor opened = open_file(named, O_RDONLY | O_DIRECTORY, "can't open folder");
  // Some file systems return EINVAL because they can't sync folders; nothing more can be done there.
  if (::fsync(opened.get()) != 0 && errno != EINVAL) refuse("can't sync folder", named, errno);
}

}  // namespace dent
