// SPDX-License-Identifier: MIT
#pragma once

#include "base/words.h"

namespace dent {

// Clock that calls are timed by. host: the processor's clock, around each call. events: two GPU events around
// each call. graph: consecutive calls in one CUDA graph, with two events around all of them.
enum class TimedBy { host, events, graph };
inline constexpr Word<TimedBy> kTimedByWords[] = {
    {TimedBy::host, "host"}, {TimedBy::events, "events"}, {TimedBy::graph, "graph"}};
constexpr std::span<const Word<TimedBy>> words(TimedBy) { return kTimedByWords; }

}  // namespace dent
