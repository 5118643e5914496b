// SPDX-License-Identifier: MIT
#include "primitives/model/reports.h"

#include <cstdio>
#include <map>
#include <string_view>

namespace flashmoe::model {

std::string describe(const Where& where) {
  std::string_view path = where.file_name();
  for (std::string_view root : {"/flashmoe/", "/dent/"}) {
    if (const auto at = path.rfind(root); at != std::string_view::npos) path = path.substr(at + 1);
  }
  return std::string(path) + ":" + std::to_string(where.line());
}

std::string describe(const Settings& settings) {
  const auto name = [](CopyTime time) { return time == CopyTime::late ? "late" : "early"; };
  return "seed " + std::to_string(settings.seed) + ", copies " + name(settings.copies) + ", stores " +
         name(settings.stores) + ", tma " + name(settings.tma) + ", wgmma " + name(settings.wgmma);
}

namespace {

std::string what_stops(const Thread& thread) {
  std::string text = thread.waits_for;
  if (thread.waits_on >= 0) text += " [" + std::to_string(thread.waits_on) + "]";
  if (thread.waits_parity >= 0) text += " for the phase of parity " + std::to_string(thread.waits_parity);
  return text + " at " + describe(thread.where);
}

// Adds one line for each group of lanes of a warp that are in the same state.
void add_warp(std::string& table, const Block& block, const Warp& warp) {
  std::map<std::string, uint32_t> states;
  for (int lane = 0; lane < 32; ++lane) {
    const auto index = static_cast<std::size_t>(warp.index * 32 + lane);
    if (index >= block.threads.size()) break;
    const Thread& thread = *block.threads[index];
    const std::string state = thread.exited ? "nothing: it has ended" : what_stops(thread);
    states[state] |= 1U << lane;
  }
  for (const auto& [state, lanes] : states) {
    char line[64];
    std::snprintf(line, sizeof line, "\n  %5u  %4d  0x%08x  ", block.rank, warp.index,
                  static_cast<unsigned>(lanes));
    table += line + state;
  }
}

}  // namespace

std::string deadlock_table(const Cluster& cluster) {
  std::string table = "deadlock: no thread can go on\n  block  warp  lanes       waits for";
  for (const Block& block : cluster.blocks) {
    for (const Warp& warp : block.warps) add_warp(table, block, warp);
  }
  for (const Block& block : cluster.blocks) {
    const std::string whose = "\n  block " + std::to_string(block.rank);
    if (block.barrier.arrived > 0) {
      table += whose + ": its barrier has " + std::to_string(block.barrier.arrived) + " of " +
               std::to_string(block.threads.size()) + " threads";
    }
    for (std::size_t i = 0; i < block.named_barriers.size(); ++i) {
      const NamedBarrier& barrier = block.named_barriers[i];
      if (barrier.arrived == 0) continue;
      table += whose + ": named barrier [" + std::to_string(i) + "] has " + std::to_string(barrier.arrived) +
               " of " + std::to_string(barrier.threads) + " threads";
    }
    if (!block.waiting_for_registers.empty()) {
      table +=
          whose + ": its pool has " + std::to_string(block.free_registers / 32) + " registers for a warp";
    }
    for (const auto& [address, barrier] : block.mbarriers) {
      table += whose + ": the mbarrier at shared offset [" + std::to_string(address - kSharedWindow) +
               "] is in phase " + std::to_string(barrier.phase) + " and waits for " +
               std::to_string(barrier.pending) + " of " + std::to_string(barrier.arrivals) +
               " arrivals and " + std::to_string(barrier.bytes) + " bytes";
    }
  }
  if (cluster.arrived > 0) {
    table += "\n  the cluster's barrier has " + std::to_string(cluster.arrived) + " of " +
             std::to_string(cluster.threads()) + " threads";
  }
  return table;
}

}  // namespace flashmoe::model
