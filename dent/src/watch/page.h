// SPDX-License-Identifier: MIT
// The live page: the report's parts, each replaced when it changes.
#pragma once

#include <string>
#include <string_view>

#include "watch/feed.h"

namespace dent {

extern const std::string_view kWatchScript;  // page.js, which the build puts into the program

std::string watch_page(const Snapshot& snapshot);  // whole, as it is shown before the first event
// Server-sent events: what `now` shows other than `before` (null: everything), and a beat.
std::string watch_events(const Snapshot* before, const Snapshot& now);

}  // namespace dent
