// SPDX-License-Identifier: MIT
// The folder that an agent may work in, with its manifests as they were when the server was started: the user
// has seen those, and what they say holds. What the agent changes is read as another author's
// (project/untrusted.h), or it could leave the cell by editing dent.toml.
#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace dent::mcp {

class Seen {
 public:
  explicit Seen(std::filesystem::path root);

  const std::filesystem::path& root() const { return root_; }
  // "" of a project that was not there.
  std::string manifest_of(const std::filesystem::path& project) const;

 private:
  std::filesystem::path root_;
  std::map<std::filesystem::path, std::string> manifests_;  // by the project's folder
};

}  // namespace dent::mcp
