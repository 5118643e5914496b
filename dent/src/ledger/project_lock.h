// SPDX-License-Identifier: MIT
// One dent at a time in a project. The operating system holds the lock for us and lets go of it when we die,
// however we die, so a lock is never stale; the file's text only says who holds it.
#pragma once

#include <filesystem>

#include "system/file_descriptor.h"

namespace dent {

class ProjectLock {
 public:
  // `folder`: the project's .dent, which exists. Throws Error (busy) naming the process that holds the lock.
  explicit ProjectLock(const std::filesystem::path& folder);

 private:
  FileDescriptor descriptor_;
};

// Whether some dent holds it at this moment.
bool is_locked(const std::filesystem::path& folder);

}  // namespace dent
