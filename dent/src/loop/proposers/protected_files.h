// SPDX-License-Identifier: MIT
// Files that must be the same afterwards as before, by their content: a file that was touched and is still
// the same does not count, one that is new or gone does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace dent {

class ProtectedFiles {
 public:
  // A file, or a folder with all that is in it but those that `excepted` names (a folder: with all that is in
  // it).
  using Excepted = std::function<bool(const std::filesystem::path&)>;
  void protect(const std::filesystem::path& place, Excepted excepted = {});

  void remember();                           // how they are now
  std::vector<std::string> touched() const;  // since then: "changed dent.toml", "removed x.h", "added y.py"

 private:
  struct Place {
    std::filesystem::path path;
    Excepted excepted;
  };
  struct Identity {  // changes with every write, whatever is done to hide it
    std::int64_t size = 0, changed_ns = 0;
    std::uint64_t inode = 0;
    unsigned mode = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Seen {
    Identity identity;
    std::string hash;
  };
  static void look(const Place& place, std::map<std::string, Identity>& found);
  std::map<std::string, Identity> look_all() const;

  std::vector<Place> places_;
  std::map<std::string, Seen> before_;
};

}  // namespace dent
