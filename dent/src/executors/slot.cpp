// SPDX-License-Identifier: MIT
#include "executors/slot.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "records/json.h"
#include "session/exit_code.h"
#include "system/durable_file.h"
#include "system/process.h"

namespace dent {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
constexpr auto kSlotPoll = std::chrono::milliseconds(20);
constexpr auto kLongestLook = std::chrono::milliseconds(500);  // a file server has others to serve as well

constexpr auto kAfterAnError = std::chrono::seconds(1);
constexpr std::size_t kSlotLogTail = 1000;
constexpr int kKilled = 128;  // exit codes from here on: a signal of somebody else's

volatile sig_atomic_t told_to_end = 0;
volatile sig_atomic_t out_of_time = 0;

bool must_end() { return told_to_end != 0 || out_of_time != 0; }

void listen_to_the_scheduler() {
  struct sigaction action {};
  action.sa_handler = [](int number) { (number == SIGTERM ? told_to_end : out_of_time) = 1; };
  sigemptyset(&action.sa_mask);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
}

std::vector<std::pair<std::string, std::string>> variables(const SlotRules& rules) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string& entry : rules.envs) {
    const std::size_t equals = entry.find('=');
    all.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return all;
}

// As its own words say it: dent job writes its exit code when it has ended by itself.
TryEnd end_of(const Try& taken, const Ending& ending, const JobQueue& queue, bool was_told) {
  const bool withdrawn = queue.withdrawn(taken.job);
  const bool exited = ending.kind == Ending::Kind::exited;
  TryEnd end{.final = true, .status = status_of_exit(exited ? ending.code : -1, withdrawn)};
  const bool gave_way = exited && ending.code == static_cast<int>(ExitCode::interrupted);
  if (exited && !gave_way && ending.code <= kKilled) return end;
  end.final = withdrawn;
  if (!exited) end.status.word = describe(ending);
  end.status.exit_code = static_cast<int>(ExitCode::interrupted);
  if (!withdrawn) end.status.state = was_told || gave_way ? JobState::preempted : JobState::failed;
  return end;
}

class Slot {
 public:
  Slot(const JobQueue& queue, std::string name, int start)
      : queue_(queue),
        name_(std::move(name)),
        next_start_(queue.slot_folder(name_) / fmt::format("run-{}", start + 1)),
        rules_(from_json_text<SlotRules>(text_of(queue.slot_folder(name_) / "slot.json"))) {}

  SlotEnd serve() {
    take_back();
    auto idle_since = Clock::now();
    auto pause = kSlotPoll;
    while (!must_end()) {
      if (given_up()) return SlotEnd::second_run;
      if (const auto taken = take()) {
        perform(*taken);
        idle_since = Clock::now();
        pause = kSlotPoll;
        continue;
      }
      if (seconds_since(idle_since) > rules_.idle_s) return SlotEnd::idle;
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongestLook);
    }
    return told_to_end != 0 ? SlotEnd::told_to_end : SlotEnd::out_of_time;
  }

 private:
  // The scheduler has lost sight of this one, and started it again, or whoever looks after the slots has.
  bool given_up() const { return fs::exists(next_start_) || fs::exists(queue_.slot_folder(name_) / "gone"); }

  // What an earlier start of this slot was at. Should that be alive still, it finds its try ended.
  void take_back() const {
    queue_.forget_prepared(name_);
    for (const std::string& job : queue_.jobs()) {
      const auto all = queue_.tries(job);
      if (all.empty() || all.back().end || all.back().slot != name_) continue;
      queue_.end(all.back(), {.final = false,
                              .status = {.state = JobState::preempted,
                                         .word = "requeued",
                                         .exit_code = static_cast<int>(ExitCode::interrupted)}});
    }
  }

  void perform(const Try& taken) const {
    Process process({.argv = {rules_.program, "job", taken.folder.string()},
                     .environment = variables(rules_),
                     .log = taken.folder / "log"});
    bool told = false;
    Clock::time_point told_at;
    std::optional<Ending> ending;
    while (!(ending = process.poll())) {
      if (JobQueue::is_over(taken)) {  // given up: somebody else does it
        process.kill(Ending::Kind::signalled);
        return;
      }
      if (!told && (must_end() || queue_.withdrawn(taken.job))) {
        ::kill(process.id(), SIGTERM);
        told = true;
        told_at = Clock::now();
      }
      if (told && seconds_since(told_at) > rules_.ending_s) {
        ending = process.kill(Ending::Kind::signalled);
        break;
      }
      std::this_thread::sleep_for(kSlotPoll);
    }
    TryEnd end = end_of(taken, *ending, queue_, told);
    if (end.status.state == JobState::failed) end.status.why = process.last_words(kSlotLogTail);
    settle(taken, end);
  }

  // A file system that is full for a while loses no result.
  void settle(const Try& taken, const TryEnd& how) const {
    for (;;) {
      try {
        queue_.end(taken, how);
        return;
      } catch (const Error& problem) {
        if (must_end()) throw;
        std::fputs(fmt::format("{}\n", problem.in_one_line()).c_str(), stderr);
        std::this_thread::sleep_for(kAfterAnError);
      }
    }
  }

  std::optional<Try> take() const {
    try {
      return queue_.take(name_);
    } catch (const Error& problem) {
      std::fputs(fmt::format("{}\n", problem.in_one_line()).c_str(), stderr);
      std::this_thread::sleep_for(kAfterAnError);
      return std::nullopt;
    }
  }

  const JobQueue& queue_;
  std::string name_;
  fs::path next_start_;
  SlotRules rules_;
};

}  // namespace

void fields(Fields& f, SlotRules& rules) {
  f("program", rules.program, "dent");
  f.may("envs", rules.envs, "NAME=value");
  f("idle_s", rules.idle_s, "without a job, before it ends");
  f("ending_s", rules.ending_s, "that a job has to end when it is told to");
}

SlotEnd serve_slot(const JobQueue& queue, const std::string& slot, int start) {
  const fs::path folder = queue.slot_folder(slot);
  if (!create_folder_durably(folder / fmt::format("run-{}", start))) return SlotEnd::second_run;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  write_durably(folder / "place", std::string(host) + "\n");
  listen_to_the_scheduler();
  const SlotEnd end = Slot(queue, slot, start).serve();
  if (end == SlotEnd::idle) write_durably(folder / "left", "idle\n");
  return end;
}

}  // namespace dent
