// SPDX-License-Identifier: MIT
// One call of a tool: dent itself in a process of its own, so that it can be stopped at any moment and a
// fault of it is nobody else's.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "mcp/seen.h"
#include "mcp/tools.h"
#include "system/temporary_folder.h"

namespace dent::mcp {

// Steps done, of how many (0: not known yet), and what it does now.
using Report = std::function<void(double done, double of, const std::string& doing)>;

class Call {
 public:
  // `program`: dent. `seen`: the folder that projects must lie in. `machine`: held while something is
  // measured.
  Call(const Tool& tool, nlohmann::json arguments, std::filesystem::path program, const Seen& seen,
       std::mutex& machine);

  // The result of tools/call: content, structuredContent, isError. Null when it was cancelled.
  nlohmann::json run(const Report& report);

  // From another thread: kills the process and what it started; the session keeps a note of it.
  void cancel(const std::string& reason);

 private:
  nlohmann::json work(const Report& report);
  void note_cancelled() const;
  std::filesystem::path project() const;

  const Tool& tool_;
  nlohmann::json arguments_;
  std::filesystem::path program_;
  const Seen& seen_;
  const TemporaryFolder scratch_;
  std::mutex& machine_;
  std::atomic<bool> cancelled_ = false;
  std::string reason_;         // written before cancelled_
  std::string newest_before_;  // session, when the call began
};

}  // namespace dent::mcp
