// SPDX-License-Identifier: MIT
// The live page: the report's parts, each of which is replaced when it changes.
#pragma once

#include <string>
#include <string_view>

#include "watch/feed.h"

namespace dent {

extern const std::string_view kWatchScript;  // page.js, embedded by the build

std::string watch_page(const Snapshot& snapshot);  // the whole page, as shown before the first event
// Server-sent events: parts of `now` that differ from `before` (null: all parts), and a heartbeat.
std::string watch_events(const Snapshot* before, const Snapshot& now);

}  // namespace dent
