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

// kind: "attention", "attention-backward" or "custom", with a language: "cpp" (also where it is empty) or
// "cuda"; or "triton", which has none. Throws Error for anything else.
std::vector<TemplateFile> project_template(const std::string& kind, const std::string& wanted_language,
                                           const std::string& project);

}  // namespace dent
