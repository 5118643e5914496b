// SPDX-License-Identifier: MIT
// A folder of our own in the system's temporary one, gone with the object.
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
