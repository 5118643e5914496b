// SPDX-License-Identifier: MIT
// Ensures that only one dent works in a project. The operating system releases the lock when its holder ends,
// however it ends, so a lock is never stale; the file's text only names the holder.
#pragma once

#include <filesystem>

#include "system/file_descriptor.h"

namespace dent {

class ProjectLock {
 public:
  // `folder`: the project's existing .dent folder. Throws Error (busy) naming the process that holds the
  // lock.
  explicit ProjectLock(const std::filesystem::path& folder);

 private:
  FileDescriptor descriptor_;
};

// Whether any dent holds the lock now.
bool is_locked(const std::filesystem::path& folder);

}  // namespace dent
