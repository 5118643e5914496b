// SPDX-License-Identifier: MIT
// A folder in the system's temporary folder, deleted with this object.
#pragma once

#include <filesystem>
#include <string>

namespace dent {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& prefix);  // throws Error (environment)
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace dent
