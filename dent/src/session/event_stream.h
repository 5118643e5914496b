// SPDX-License-Identifier: MIT
// What happens in a session as JSON lines, for a program that follows it: `--events FD`.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "records/fields.h"
#include "session/observer.h"

namespace dent {

enum class EventKind { plan, begin, progress, note, end, running };
inline constexpr Word<EventKind> kEventKindWords[] = {
    {EventKind::plan, "plan"}, {EventKind::begin, "begin"}, {EventKind::progress, "progress"},
    {EventKind::note, "note"}, {EventKind::end, "end"},     {EventKind::running, "running"}};
constexpr std::span<const Word<EventKind>> words(EventKind) { return kEventKindWords; }

struct Event {
  EventKind event = EventKind::note;
  std::int64_t number = 0, of = 0;  // the step, counted from 1
  std::string step{};
  double share = 0;    // of its work that is done
  std::string text{};  // what it does; how it ended; the note
  std::optional<StepVerdict> verdict{};
  double seconds = 0;
  std::vector<Running> running{};  // where several things are done at a time
};
void fields(Fields& f, Running& running);
void fields(Fields& f, Event& event);

// Whoever does not read loses events, not the session: a pipe that is full or closed is given up.
class EventStream : public Observer {
 public:
  explicit EventStream(int descriptor);
  void plan(const std::vector<Step>& plan, std::size_t done_already) override;
  void begin(const Step& step, std::size_t number, std::size_t of) override;
  void begin_part(const Step& step) override { progress(0, step.name); }
  void progress(double share, const std::string& doing) override;
  void note(const std::string& text) override;
  void end(const Step& step, const GateResult& result, double seconds) override;
  void running(const std::vector<Running>& all) override;

 private:
  void tell(const Event& event);

  std::mutex telling_;
  int descriptor_;
  std::int64_t number_ = 0, of_ = 0;
  std::string step_;
};

// Several that are told the same.
class Observers : public Observer {
 public:
  void add(Observer& observer) { all_.push_back(&observer); }
  void plan(const std::vector<Step>& plan, std::size_t done_already) override {
    for (Observer* each : all_) each->plan(plan, done_already);
  }
  void begin(const Step& step, std::size_t number, std::size_t of) override {
    for (Observer* each : all_) each->begin(step, number, of);
  }
  void begin_part(const Step& step) override {
    for (Observer* each : all_) each->begin_part(step);
  }
  void progress(double share, const std::string& doing) override {
    for (Observer* each : all_) each->progress(share, doing);
  }
  void note(const std::string& text) override {
    for (Observer* each : all_) each->note(text);
  }
  void end(const Step& step, const GateResult& result, double seconds) override {
    for (Observer* each : all_) each->end(step, result, seconds);
  }
  void running(const std::vector<Running>& all) override {
    for (Observer* each : all_) each->running(all);
  }

 private:
  std::vector<Observer*> all_;
};

}  // namespace dent
