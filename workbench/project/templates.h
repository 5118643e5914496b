// SPDX-License-Identifier: MIT
// What `dent init` writes: a project that runs as it is.
#pragma once

#include <string>
#include <vector>

namespace dent {

struct TemplateFile {
  std::string name;
  std::string content;
};

// kind: "attention", "attention-backward" or "custom"; language: "cpp" or "cuda". Throws Error for anything
// else.
std::vector<TemplateFile> project_template(const std::string& kind, const std::string& language,
                                           const std::string& name);

}  // namespace dent
