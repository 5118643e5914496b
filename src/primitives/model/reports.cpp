// SPDX-License-Identifier: MIT
#include "primitives/model/reports.h"

#include <cstdio>
#include <map>
#include <string_view>

namespace flashmoe::model {

std::string describe(const Where& where) {
  std::string_view path = where.file_name();
  for (std::string_view root : {"/src/", "/tests/"}) {
    if (const auto at = path.rfind(root); at != std::string_view::npos) path = path.substr(at + 1);
  }
  return std::string(path) + ":" + std::to_string(where.line());
}

std::string describe(const Settings& settings) {
  return "seed " + std::to_string(settings.seed) + ", copies " +
         (settings.copies == CopyTime::late ? "late" : "early");
}

// One line for each group of lanes of a warp that are in the same state.
std::string deadlock_table(const Block& block) {
  std::string table = "deadlock: no thread can go on\n  warp  lanes       waits for";
  for (const Warp& warp : block.warps) {
    std::map<std::string, uint32_t> states;
    for (int lane = 0; lane < 32; ++lane) {
      const auto index = static_cast<std::size_t>(warp.index * 32 + lane);
      if (index >= block.threads.size()) break;
      const Thread& thread = *block.threads[index];
      const std::string state = thread.exited
                                    ? "nothing: it has ended"
                                    : std::string(thread.waits_for) + " at " + describe(thread.where);
      states[state] |= 1U << lane;
    }
    for (const auto& [state, lanes] : states) {
      char line[64];
      std::snprintf(line, sizeof line, "\n  %4d  0x%08x  ", warp.index, static_cast<unsigned>(lanes));
      table += line + state;
    }
  }
  if (block.barrier.arrived > 0) {
    table += "\n  the block's barrier has " + std::to_string(block.barrier.arrived) + " of " +
             std::to_string(block.threads.size()) + " threads";
  }
  return table;
}

}  // namespace flashmoe::model
