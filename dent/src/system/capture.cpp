// SPDX-License-Identifier: MIT
#include "system/capture.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "system/process.h"

namespace dent {

std::optional<std::string> capture(const std::vector<std::string>& argv, double seconds,
                                   const std::filesystem::path& directory) {
  std::string log = (std::filesystem::temp_directory_path() / "dent-capture-XXXXXX").string();
  const int file = mkstemp(log.data());
  if (file < 0) return std::nullopt;
  close(file);
  std::optional<std::string> output;
  try {
    Finished finished = run({.argv = argv, .environment = {}, .directory = directory, .log = log}, seconds);
    if (finished.ending.clean()) output = std::move(finished.output);
  } catch (const Error&) {
  }
  unlink(log.c_str());
  return output;
}

}  // namespace dent
