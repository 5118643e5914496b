// SPDX-License-Identifier: MIT
#include "system/unpack.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "system/process.h"
#include "system/temporary_folder.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr auto kLook = std::chrono::milliseconds(50);  // between checks of a growing folder

// What is wrong with a folder, or "". While tar is unpacking it creates temporary files, so only sizes and
// counts are checked.
std::string fault_in(const fs::path& folder, const SentLimits& limits, bool finished) {
  std::int64_t bytes = 0, files = 0;
  std::error_code problem;
  for (fs::recursive_directory_iterator entry(folder, problem), end; entry != end; entry.increment(problem)) {
    if (problem) break;
    struct stat about {};
    if (lstat(entry->path().c_str(), &about) != 0) continue;
    const bool plain = S_ISREG(about.st_mode) && about.st_nlink == 1;
    if (finished && !plain && !S_ISDIR(about.st_mode))
      return printable(entry->path().lexically_relative(folder).string()) + " is no plain file";
    if (S_ISREG(about.st_mode)) bytes += about.st_size;
    if (++files > limits.files) return fmt::format("there are more than {} files", limits.files);
    if (bytes > limits.bytes) return fmt::format("the files have more than {} MiB", limits.bytes >> 20);
  }
  return finished && problem ? problem.message() : "";
}

}  // namespace

void unpack(const fs::path& archive, const fs::path& folder, const SentLimits& limits) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::invalid, fmt::format("{}: {}", archive.string(), why),
                "it was cut off, or made by something else than dent");
  };
  const TemporaryFolder words("dent-unpack");
  Process tar({.argv = {"tar", "--no-same-owner", "--no-same-permissions", "-C", folder.string(), "-xf",
                        fs::absolute(archive).string()},
               .environment = {{"LC_ALL", "C"}, {"TAR_OPTIONS", ""}},
               .log = words.path() / "log",
               .file_bytes = limits.bytes});
  const auto began = std::chrono::steady_clock::now();
  std::optional<Ending> ending;
  while (!(ending = tar.poll())) {
    if (const std::string fault = fault_in(folder, limits, false); !fault.empty()) refuse(fault);
    if (seconds_since(began) > limits.seconds)
      refuse(fmt::format("not unpacked after {:.0f} s", limits.seconds));
    std::this_thread::sleep_for(kLook);
  }
  if (!ending->clean())
    refuse(fmt::format("tar {}: {}", describe(*ending), printable(trimmed(tar.last_words()))));
  if (const std::string fault = fault_in(folder, limits, true); !fault.empty()) refuse(fault);
}

void take_files(const fs::path& from, const fs::path& to, const SentLimits& limits) {
  if (const std::string fault = fault_in(from, limits, true); !fault.empty())
    throw Error(ErrorCode::environment, fmt::format("{}: {}", from.string(), fault));
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
}

}  // namespace dent
