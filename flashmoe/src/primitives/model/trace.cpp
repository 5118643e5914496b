// SPDX-License-Identifier: MIT
#include "primitives/model/trace.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "primitives/model/machine.h"
#include "primitives/model/reports.h"

namespace flashmoe::model {

bool tracing = false;

namespace {

constexpr std::size_t kMostEvents = 1'000'000;

std::vector<TraceEvent> events;
std::string kernel;
std::size_t slice_begin = 0;  // the first event of the current slice
uint64_t slice_step = 0;      // the step at which the slice began

// Lanes of a warp share one event for a call that they make together: returns the event that another lane has
// already recorded for this call, or null.
TraceEvent* same_event(const char* what, const Where& where, int64_t offset) {
  const std::vector<std::size_t>& of_warp = current->warp->events;
  for (std::size_t i = current->events; i < of_warp.size(); ++i) {
    TraceEvent& e = events[of_warp[i]];
    if (e.what == what && e.where.line() == where.line() && e.offset == offset) {
      current->events = i + 1;
      return &e;
    }
  }
  return nullptr;
}

// The event that the thread is in; null before its first.
TraceEvent* event_of(const Thread& thread) {
  return thread.events == 0 ? nullptr : &events[thread.warp->events[thread.events - 1]];
}

}  // namespace

void start_trace() {
  events.clear();
  slice_begin = 0;
  slice_step = 0;
  tracing = true;
}

std::vector<TraceEvent> stop_trace() {
  tracing = false;
  std::stable_sort(events.begin(), events.end(),
                   [](const TraceEvent& a, const TraceEvent& b) { return a.begin < b.begin; });
  return std::exchange(events, {});
}

void trace_launch(const char* name) { kernel = name; }

void trace_slice() {
  slice_step = trace_now();
  slice_begin = events.size();
}

uint64_t trace_now() { return slice_step + (events.size() - slice_begin); }

void trace_event(const char* what, const Where& where, int64_t offset) {
  if (TraceEvent* e = same_event(what, where, offset); e != nullptr) {
    e->lanes |= 1U << current->lane;
    return;
  }
  if (events.size() > kMostEvents) return;
  const Block& block = *current->block;
  const uint64_t now = trace_now();
  current->warp->events.push_back(events.size());
  current->events = current->warp->events.size();
  events.push_back({what, where, kernel, block.x, block.y, block.z, current->warp->index, 1U << current->lane,
                    offset, false, now, now + 1});
}

void trace_wait() {
  if (TraceEvent* e = event_of(*current); e != nullptr) e->waited = true;
}

void trace_wake(const Thread& thread) {
  if (TraceEvent* e = event_of(thread); e != nullptr) e->end = std::max(e->end, trace_now());
}

void trace_async(const char* what, const Where& where, const Block& block, uint64_t begin) {
  if (events.size() > kMostEvents) return;
  events.push_back({what, where, kernel, block.x, block.y, block.z, TraceEvent::kBehindBack, 0, -1, false,
                    begin, std::max(begin + 1, trace_now() + 1)});
}

namespace {

std::string block_of(const TraceEvent& e) {
  return "(" + std::to_string(e.x) + ", " + std::to_string(e.y) + ", " + std::to_string(e.z) + ")";
}

std::string name_of(const TraceEvent& e) {
  return e.offset < 0 ? e.what : std::string(e.what) + " [" + std::to_string(e.offset) + "]";
}

std::string in_hexadecimal(uint32_t lanes) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", static_cast<unsigned>(lanes));
  return text;
}

}  // namespace

std::string as_text(const std::vector<TraceEvent>& all) {
  std::string text = "    step  until     block         warp   lanes       what\n";
  const std::string* last_kernel = nullptr;
  for (const TraceEvent& e : all) {
    if (last_kernel == nullptr || *last_kernel != e.kernel) text += "kernel " + e.kernel + "\n";
    last_kernel = &e.kernel;
    char line[96];
    const std::string warp = e.warp == TraceEvent::kBehindBack ? "behind" : std::to_string(e.warp);
    std::snprintf(line, sizeof line, "%8llu  %-8llu  %-12s  %-6s %-10s  ",
                  static_cast<unsigned long long>(e.begin), static_cast<unsigned long long>(e.end),
                  block_of(e).c_str(), warp.c_str(), e.lanes != 0 ? in_hexadecimal(e.lanes).c_str() : "");
    text += line + name_of(e) + (e.waited ? ", waits" : "") + "  " + describe(e.where) + "\n";
  }
  return text;
}

std::string as_timeline(const std::vector<TraceEvent>& all) {
  // A trace process per block, a trace thread per warp. If lanes diverge, their events overlap in time, which
  // viewers can't show on one track: such lanes get tracks of their own.
  std::map<std::string, int> processes;
  std::map<std::pair<int, int>, std::vector<uint64_t>>
      tracks;  // [process, warp]: the end of each of its tracks
  std::string names;
  std::string rows;
  const auto entry = [](const char* phase, int process, int thread, const std::string& rest) {
    return std::string(",\n{\"ph\":\"") + phase + "\",\"pid\":" + std::to_string(process) +
           ",\"tid\":" + std::to_string(thread) + "," + rest + "}";
  };
  constexpr int kTracksPerWarp = 64;
  for (const TraceEvent& e : all) {
    const std::string process_name = e.kernel + " block " + block_of(e);
    const auto [process, is_new] =
        processes.try_emplace(process_name, static_cast<int>(processes.size()) + 1);
    const int pid = process->second;
    if (is_new)
      names += entry("M", pid, 0, R"("name":"process_name","args":{"name":")" + process_name + "\"}");
    std::vector<uint64_t>& ends = tracks[{pid, e.warp}];
    const auto free = std::find_if(ends.begin(), ends.end(), [&](uint64_t end) { return end <= e.begin; });
    const auto track = static_cast<int>(free - ends.begin());
    const int tid = (e.warp + 1) * kTracksPerWarp + track;
    if (free == ends.end()) {
      ends.push_back(0);
      const bool behind = e.warp == TraceEvent::kBehindBack;
      const std::string thread_name =
          (behind ? "asynchronous" : "warp " + std::to_string(e.warp)) + (track == 0 ? ""
                                                                          : behind   ? " too"
                                                                                     : ", lanes apart");
      names += entry("M", pid, tid, R"("name":"thread_name","args":{"name":")" + thread_name + "\"}");
    }
    ends[static_cast<std::size_t>(track)] = e.end;
    rows += entry("X", pid, tid,
                  "\"name\":\"" + name_of(e) + "\",\"ts\":" + std::to_string(e.begin) +
                      ",\"dur\":" + std::to_string(e.end - e.begin) + R"(,"args":{"at":")" +
                      describe(e.where) + "\",\"lanes\":\"" + in_hexadecimal(e.lanes) +
                      "\",\"waited\":" + (e.waited ? "true" : "false") + "}");
  }
  const std::string list = names + rows;
  return "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[" + (list.empty() ? "" : list.substr(1)) + "\n]}\n";
}

}  // namespace flashmoe::model
