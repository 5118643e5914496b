// SPDX-License-Identifier: MIT
// Who did what, and in which order: the primitives that each warp called, what it waited for and how long,
// and what went on asynchronously. Time is counted in steps of the model, which say nothing about time on a
// GPU.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace flashmoe::model {

struct TraceEvent {
  static constexpr int kBehindBack =
      -1;  // in place of a warp: a copy or product under way, from issue to effect

  const char* what = "";
  std::source_location where{};
  std::string kernel{};
  unsigned x = 0, y = 0, z = 0;  // the block
  int warp = 0;
  uint32_t lanes = 0;           // that did it together
  int64_t offset = -1;          // in shared memory, where there is one
  bool waited = false;          // it could not go on at once
  uint64_t begin = 0, end = 0;  // steps
};

// Everything between the two is kept, up to a million events.
void start_trace();
std::vector<TraceEvent> stop_trace();

// One line per event, in order; and the format of the Chrome and Perfetto trace viewers, a track per warp.
std::string as_text(const std::vector<TraceEvent>& events);
std::string as_timeline(const std::vector<TraceEvent>& events);

// --- for the model itself

struct Thread;
struct Block;

extern bool tracing;
void trace_launch(const char* kernel);
void trace_slice();  // the scheduler turns to a warp
void trace_event(const char* what, const std::source_location& where, int64_t offset);
void trace_wait();  // the current thread's last event has to wait
void trace_wake(const Thread& thread);
uint64_t trace_now();
void trace_async(const char* what, const std::source_location& where, const Block& block, uint64_t begin);

}  // namespace flashmoe::model
