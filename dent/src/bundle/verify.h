// SPDX-License-Identifier: MIT
// Is a bundle what its author made, and does it hold here?
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bundle/bundle.h"
#include "report/session_change.h"
#include "session/observer.h"

namespace dent {

// What was found without running anything of it.
struct CheckedBundle {
  std::string id;
  BundleList list;
  std::vector<std::string>
      faults;  // one line each; none: every file and every line of the ledger is as listed
};

// Unpacks `archive` into `folder`, which is empty. Throws Error where it is no archive at all.
void unpack_bundle(const std::filesystem::path& archive, const std::filesystem::path& folder);
CheckedBundle check_bundle(const std::filesystem::path& folder);

// Two machines, as far as times depend on them.
struct MachineDifference {
  std::vector<std::string> words;  // "processor: A there, B here"
  bool same_hardware = true;       // processor, cores and the GPU that is used
};
MachineDifference difference_between(const SessionView& there, const SessionView& here);

struct Remeasured {
  SessionView there, here;
  MachineDifference machines;
  std::optional<SessionChange> change{};  // on the same hardware, where both have speeds
  Verdict verdict = Verdict::ambiguous;
  std::string reason;
};

// Takes the unpacked project through dent run, in a cell unless it is trusted.
Remeasured measure_again(const std::filesystem::path& folder, const BundleList& list, bool trusted,
                         Observer& observer);

}  // namespace dent
