// SPDX-License-Identifier: MIT
#include "cell/bubblewrap.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/text.h"
#include "system/capture.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr int kOldest[] = {0, 8};  // the first with --size and --disable-userns
constexpr std::int64_t kSharedMemoryBytes = std::int64_t{1} << 30;
constexpr const char* kNobody = "65534";
constexpr std::string_view kReadOnly = "--ro-bind", kWritable = "--bind", kEmpty = "--tmpfs";

// Of /etc, what programs and compilers look up; nothing about users' secrets.
constexpr const char* kSettings[] = {"/etc/ld.so.cache",  "/etc/ld.so.conf", "/etc/ld.so.conf.d",
                                     "/etc/alternatives", "/etc/localtime",  "/etc/nsswitch.conf",
                                     "/etc/passwd",       "/etc/group"};
// For the name of a host and a certificate; only where there is a network.
constexpr const char* kNetworkSettings[] = {"/etc/resolv.conf", "/etc/hosts", "/etc/ssl",
                                            "/etc/ca-certificates", "/etc/pki"};
// How many processors and caches there are, and where a GPU sits.
constexpr const char* kHardware[] = {"/sys/devices", "/sys/bus/pci", "/sys/module", "/sys/class/drm"};

std::string in_path(const std::string& name) {
  std::istringstream folders(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (const std::string file = folder + "/" + name; access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

bool is_within(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end();
}

class Arguments {
 public:
  explicit Arguments(const Bubblewrap& tool) { add({tool.program.string()}); }

  void namespaces(bool network) {
    add({"--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--cap-drop", "ALL",
         "--hostname", "cell"});
    if (network) add({"--share-net"});
    if (geteuid() == 0) add({"--uid", kNobody, "--gid", kNobody});
  }

  void system(bool network) {
    add({"--ro-bind", "/usr", "/usr"});
    for (const char* name : {"bin", "sbin", "lib", "lib32", "lib64", "libx32"}) {
      const fs::path folder = fs::path("/") / name;
      std::error_code none;
      if (fs::is_symlink(folder, none)) {
        add({"--symlink", fs::read_symlink(folder, none).string(), folder.string()});
      } else if (fs::is_directory(folder, none)) {
        add({"--ro-bind", folder.string(), folder.string()});
      }
    }
    for (const char* path : kSettings) add({"--ro-bind-try", path, path});
    if (network) {
      for (const char* path : kNetworkSettings) add({"--ro-bind-try", path, path});
    }
    for (const char* path : kHardware) add({"--ro-bind-try", path, path});
    add({"--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"});
  }

  // Nothing can be put into /dev, apart from its shared memory.
  void devices() {
    add({"--dev", "/dev"});
    std::error_code none;
    for (const auto& entry : fs::directory_iterator("/dev", none)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("nvidia") || name == "dxg")
        add({"--dev-bind-try", entry.path().string(), entry.path().string()});
    }
    add({"--remount-ro", "/dev", "--size", std::to_string(kSharedMemoryBytes), "--tmpfs", "/dev/shm"});
  }

  void room(std::int64_t bytes) { add({"--size", std::to_string(bytes), "--tmpfs", "/tmp"}); }

  void paths(const CellView& view) {
    std::map<fs::path, std::string_view> mounts;  // in this order: what lies within another comes behind it
    std::map<fs::path, fs::path> links;
    const auto put = [&](const std::vector<fs::path>& list, std::string_view how) {
      for (const fs::path& wanted : list) {
        std::error_code none;
        fs::path path = fs::absolute(wanted, none).lexically_normal();
        if (!path.has_filename()) path = path.parent_path();
        const fs::path real = fs::canonical(path, none);
        const bool there_anyway = how == kReadOnly && is_within(real, "/usr");
        if (none || real == "/" || there_anyway) continue;
        mounts[real] = how;
        if (real != path) links[path] = real;
      }
    };
    put(view.visible, kReadOnly);
    put(view.hidden, kEmpty);
    put(view.writable, kWritable);
    for (const auto& [path, how] : mounts) {
      if (how == kEmpty) {
        add({"--size", "4096", std::string(how), path.string()});
      } else {
        add({std::string(how), path.string(), path.string()});
      }
    }
    // After all that lies in them.
    for (const auto& [path, how] : mounts) {
      if (how == kEmpty) add({"--remount-ro", path.string()});
    }
    for (const auto& [path, real] : links) {
      // Within a folder that is visible the link itself is there.
      const fs::path folder = path.parent_path();
      const auto holds = [&](const auto& other) { return is_within(folder, other.first); };
      // So is what lies behind another link.
      const bool there =
          std::any_of(mounts.begin(), mounts.end(), holds) || std::any_of(links.begin(), links.end(), holds);
      if (!there && !is_within(path, "/usr")) add({"--symlink", real.string(), path.string()});
    }
  }

  void add(const std::vector<std::string>& more) { all_.insert(all_.end(), more.begin(), more.end()); }
  std::vector<std::string> take() { return std::move(all_); }

 private:
  std::vector<std::string> all_;
};

// "bubblewrap 0.8.0"
bool is_new_enough(const std::string& version) {
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "%d.%d", &major, &minor) != 2) return false;
  return major > kOldest[0] || (major == kOldest[0] && minor >= kOldest[1]);
}

}  // namespace

std::vector<std::string> bubblewrap_prefix(const Bubblewrap& tool, const CellView& view,
                                           const fs::path& directory) {
  Arguments arguments(tool);
  arguments.namespaces(view.network);
  arguments.system(view.network);
  arguments.devices();
  arguments.room(view.room_bytes);
  arguments.paths(view);
  arguments.add({"--chdir", directory.empty() ? "/tmp" : directory.string(), "--"});
  return arguments.take();
}

Bubblewrap try_bubblewrap(const std::string& program) {
  Bubblewrap tool;
  tool.program = program.empty() ? in_path("bwrap") : program;
  tool.remedy = "install bubblewrap 0.8 or newer (Debian: apt-get install bubblewrap)";
  const auto version = tool.program.empty() ? std::nullopt : capture({tool.program.string(), "--version"}, 5);
  if (!version) {
    tool.why_not = program.empty() ? "bubblewrap (bwrap) is not installed" : program + " can't be run";
    return tool;
  }
  const auto at = version->find_last_of(' ');
  tool.version = trimmed(at == std::string::npos ? *version : version->substr(at + 1));
  if (!is_new_enough(tool.version)) {
    tool.why_not = "bubblewrap " + tool.version + " is older than 0.8";
    return tool;
  }
  // With the rights that a confined kernel has left.
  std::string log = (fs::temp_directory_path() / "dent-cell-XXXXXX").string();
  const int file = mkstemp(log.data());
  if (file < 0) return tool;
  close(file);
  const Finished tried =
      run({.argv = {"true"}, .log = log, .confined = true, .cell = bubblewrap_prefix(tool, {}, {})}, 10);
  unlink(log.c_str());
  if (!tried.ending.clean()) {
    tool.why_not = "bubblewrap can't make a cell here: " + first_line(tried.output);
    tool.remedy =
        "let users make namespaces: sysctl kernel.unprivileged_userns_clone=1, on Ubuntu "
        "kernel.apparmor_restrict_unprivileged_userns=0; in a container, allow them there";
  }
  return tool;
}

const Bubblewrap& bubblewrap() {
  static const Bubblewrap found = [] {
    const char* named = std::getenv("DENT_BWRAP");
    return try_bubblewrap(named != nullptr ? named : "");
  }();
  return found;
}

}  // namespace dent
