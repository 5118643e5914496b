// SPDX-License-Identifier: MIT
// A record of a run: primitives that each warp called, in order, what it waited for and how long, and the
// asynchronous operations. Time is counted in scheduling steps of the model, which say nothing about time on
// a GPU.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace flashmoe::model {

struct TraceEvent {
  static constexpr int kBehindBack =
      -1;  // used as warp number: an asynchronous copy or product, from issue to effect

  const char* what = "";
  std::source_location where{};
  std::string kernel{};
  unsigned x = 0, y = 0, z = 0;  // block index
  int warp = 0;
  uint32_t lanes = 0;           // lanes that made the call together
  int64_t offset = -1;          // offset in shared memory, or -1
  bool waited = false;          // whether the call had to wait
  uint64_t begin = 0, end = 0;  // in steps
};

// All events between the two calls are kept, up to a million.
void start_trace();
std::vector<TraceEvent> stop_trace();

// Text, one line per event; or JSON for the Chrome and Perfetto trace viewers, with a track per warp.
std::string as_text(const std::vector<TraceEvent>& events);
std::string as_timeline(const std::vector<TraceEvent>& events);

// --- called by the model itself

struct Thread;
struct Block;

extern bool tracing;
void trace_launch(const char* kernel);
void trace_slice();  // the scheduler begins to run a warp
void trace_event(const char* what, const std::source_location& where, int64_t offset);
void trace_wait();  // the running thread's last event has to wait
void trace_wake(const Thread& thread);
uint64_t trace_now();
void trace_async(const char* what, const std::source_location& where, const Block& block, uint64_t begin);

}  // namespace flashmoe::model
