// SPDX-License-Identifier: MIT
#include "executors/program_bundle.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "system/process.h"
#include "workers/resources.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

// Those of the C library and of the compiler are the system's own: a kernel that is built there may need
// newer ones than ours.
bool comes_along(const std::string& library) {
  if (library.find(".so") == std::string::npos) return false;
  for (const char* own :
       {"ld-", "libc.", "libdl.", "libgcc_s.", "libm.", "libpthread.", "librt.", "libstdc++."}) {
    if (library.starts_with(own)) return false;
  }
  return true;
}

// Libraries that this process has loaded.
std::set<fs::path> loaded_libraries() {
  std::set<fs::path> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find('/');
    if (at == std::string::npos) continue;
    const fs::path file = line.substr(at);
    if (comes_along(file.filename().string())) found.insert(file);
  }
  return found;
}

// "libfmt.so.9.1.0" is looked for as "libfmt.so.9".
std::string soname(const std::string& file) {
  const std::size_t version = file.find(".so.");
  const std::size_t dot = version == std::string::npos ? version : file.find('.', version + 4);
  return file.substr(0, dot);
}

}  // namespace

std::string instruction_set() {
  utsname system{};
  uname(&system);
  return system.machine;
}

ProgramBundle program_bundle() {
  const Resources resources = find_resources();
  ProgramBundle bundle;
  bundle.files = {{fs::read_symlink("/proc/self/exe"), "dent"},
                  {resources.native_worker, "dent-worker"},
                  {resources.oracle, "dent-oracle"}};
  const fs::path share = resources.diagnose.parent_path();
  for (const auto& entry : fs::recursive_directory_iterator(share)) {
    if (entry.is_regular_file())
      bundle.files.emplace_back(entry.path(), "share/dent" / entry.path().lexically_relative(share));
  }
  for (const fs::path& library : loaded_libraries())
    bundle.files.emplace_back(library, "lib/" + soname(library.filename().string()));
  std::sort(bundle.files.begin(), bundle.files.end(),
            [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string content;
  for (const auto& [here, there] : bundle.files) {
    content += fmt::format("{} {} {}\n", there.string(), fs::file_size(here),
                           fs::last_write_time(here).time_since_epoch().count());
  }
  bundle.id = sha256(content).substr(0, 16) + "-" + instruction_set();
  return bundle;
}

void ProgramBundle::write(const fs::path& archive) const {
  const fs::path stage = archive.string() + ".stage";
  fs::remove_all(stage);
  for (const auto& [here, there] : files) {
    fs::create_directories((stage / there).parent_path());
    fs::create_symlink(fs::absolute(here), stage / there);
  }
  const Finished packed = run({.argv = {"tar", "-C", stage, "-hcf", archive, "."}}, 120);
  fs::remove_all(stage);
  if (!packed.ending.clean()) throw Error(ErrorCode::environment, "tar " + describe(packed.ending));
}

fs::path own_source() {
  for (fs::path folder = fs::read_symlink("/proc/self/exe").parent_path(); folder != folder.parent_path();
       folder = folder.parent_path()) {
    if (fs::exists(folder / "dent" / "src" / "executors" / "program_bundle.cpp")) return folder;
  }
  return {};
}

}  // namespace dent
