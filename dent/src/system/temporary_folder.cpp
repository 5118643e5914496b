// SPDX-License-Identifier: MIT
#include "system/temporary_folder.h"

#include <stdlib.h>

#include "base/error.h"

namespace dent {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder(const std::string& prefix) {
  std::string name = (fs::temp_directory_path() / (prefix + "-XXXXXX")).string();
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorCode::environment, "can't create a folder in " + fs::temp_directory_path().string(),
                "free some space there, or set TMPDIR");
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace dent
