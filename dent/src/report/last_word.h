// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <vector>

namespace dent {

// Replaces the entry with equal keys, or appends: if something was repeated, the last entry counts.
template <class Entry, class... Keys>
void last_word(std::vector<Entry>& entries, const Entry& entry, Keys Entry::*... keys) {
  const auto same = std::find_if(entries.begin(), entries.end(),
                                 [&](const Entry& old) { return ((old.*keys == entry.*keys) && ...); });
  if (same != entries.end()) {
    *same = entry;
  } else {
    entries.push_back(entry);
  }
}

}  // namespace dent
