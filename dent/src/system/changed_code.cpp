// SPDX-License-Identifier: MIT
#include "system/changed_code.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace dent {
namespace {

// Prefixes of file names. A kernel may change its own libraries and others that it loads.
constexpr std::array kWatched = {"dent-worker", "dent_slow_worker", "python", "libpython",  "libc.so",
                                 "libc-",       "ld-linux",         "ld-",    "libpthread", "libm.so"};

bool is_watched(const std::string& file) {
  return std::ranges::any_of(kWatched, [&](const char* name) { return file.starts_with(name); });
}

}  // namespace

// "7f00-7f01 r-xp 0 08:01 42   /usr/lib/libc.so.6", then lines of counts: "Anonymous:   4 kB".
std::string changed_code(pid_t process) {
  std::ifstream smaps("/proc/" + std::to_string(process) + "/smaps");
  std::string watched;  // name of the current mapping, if it is watched
  for (std::string line; std::getline(smaps, line);) {
    std::istringstream row(line);
    std::string first, rights, offset, device, inode, path;
    row >> first >> rights;
    if (first.find('-') != std::string::npos && first.back() != ':') {
      row >> offset >> device >> inode >> path;
      const std::string name = std::filesystem::path(path).filename().string();
      watched = rights.find('x') != std::string::npos && is_watched(name) ? name : "";
    } else if (!watched.empty() && first == "Anonymous:" && std::atol(rights.c_str()) > 0) {
      return watched;
    }
  }
  return {};
}

}  // namespace dent
