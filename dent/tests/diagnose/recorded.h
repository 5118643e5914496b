// SPDX-License-Identifier: MIT
// Recorded output of Nsight Compute for kernels whose bottleneck is known.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "diagnose/ncu_report.h"

namespace dent::test {

inline std::string text_of_file(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline NcuReport recorded(const char* name) {
  return parse_ncu_csv(text_of_file(std::string(DENT_RECORDED) + "/" + name));
}

}  // namespace dent::test
