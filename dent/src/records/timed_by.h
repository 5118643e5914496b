// SPDX-License-Identifier: MIT
#pragma once

#include "base/words.h"

namespace dent {

// The clock that calls are timed by. host: of the processor, around a call. events: two events of the GPU
// around each call. graph: calls behind one another in one graph of the GPU, two events around all of them.
enum class TimedBy { host, events, graph };
inline constexpr Word<TimedBy> kTimedByWords[] = {
    {TimedBy::host, "host"}, {TimedBy::events, "events"}, {TimedBy::graph, "graph"}};
constexpr std::span<const Word<TimedBy>> words(TimedBy) { return kTimedByWords; }

}  // namespace dent
