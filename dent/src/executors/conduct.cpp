// SPDX-License-Identifier: MIT
#include "executors/conduct.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "accounting/step_name.h"
#include "base/stopwatch.h"
#include "executors/record_stream.h"
#include "session/exit_code.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kAttempts = 3;  // to send a job

// Puts the job's records into the session, and tells who watches.
class Intake {
 public:
  Intake(Session& session, const SentJob& sent, const std::vector<Step>& plan)
      : session_(session), sent_(sent), plan_(plan) {}

  void begin_anew() {
    stream_ = {};
    in_steps_ = false;
  }

  void take(std::string_view line) {
    const Record record = stream_.take(line);
    if (sent_.job().part && opens_a_session(record)) return;
    if (!session_.take_in(record, sent_.job().id)) return;
    ++taken_;
    if (sent_.job().part) return tell_of_part(record);
    if (const auto* begin = record.as<record::Begin>()) {
      if (const Step* step = planned(begin->step)) session_.begin(*step);
    } else if (const auto* gate = record.as<record::Gate>()) {
      if (const Step* step = planned(gate->step)) session_.end(*step, result_of(*gate), gate->elapsed_s);
    } else if (const auto* note = record.as<record::Note>()) {
      session_.say(note->text);
    }
  }
  std::size_t taken() const { return taken_; }

 private:
  // A part of a loop goes into the loop's own session, which has begun.
  bool opens_a_session(const Record& record) {
    if (const auto* theirs = record.as<record::Session>()) {
      session_.learn(*theirs);
      return true;
    }
    in_steps_ = in_steps_ || record.as<record::Begin>() != nullptr;
    return !in_steps_ && session_.facts().environment().has_value() &&
           sent_.job().part->kind != PartKind::start;
  }

  // Trials of a candidate are parts of one line for people.
  void tell_of_part(const Record& record) {
    if (const auto* begin = record.as<record::Begin>()) {
      if (!iteration_of(begin->step)) session_.begin({.name = begin->step});
    } else if (const auto* gate = record.as<record::Gate>()) {
      if (iteration_of(gate->step)) {
        session_.progress()(0, gate->step);
      } else {
        session_.end({.name = gate->step}, result_of(*gate), gate->elapsed_s);
      }
    } else if (const auto* note = record.as<record::Note>()) {
      session_.say(note->text);
    }
  }

  const Step* planned(const std::string& name) const {
    const auto found =
        std::find_if(plan_.begin(), plan_.end(), [&](const Step& step) { return step.name == name; });
    return found == plan_.end() ? nullptr : &*found;
  }

  Session& session_;
  const SentJob& sent_;
  const std::vector<Step>& plan_;
  RecordStream stream_;
  std::size_t taken_ = 0;
  bool in_steps_ = false;  // the stream's last record is of a step, or behind one
};

record::Job record_of(const SentJob& sent, const JobStatus& status) {
  return {.job = sent.job().id,
          .executor = sent.job().executor,
          .state = status.state,
          .word = status.word,
          .exit_code = status.exit_code,
          .why = status.why};
}

// How long it has been out of reach, and when to try again.
class Patience {
 public:
  explicit Patience(const ConductRules& rules) : rules_(rules) {}
  void reset() {
    since_.reset();
    pause_s_ = 0.5;
  }
  // Sleeps; throws what was caught when it has been long enough.
  void wait(const Unreachable& problem, Session& session) {
    if (!since_) {
      since_ = Clock::now();
      session.say("out of reach, trying again; the job goes on: " + problem.in_one_line());
    }
    if (seconds_since(*since_) + pause_s_ > rules_.reconnect_seconds) throw problem;
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_s_));
    pause_s_ = std::min(2 * pause_s_, rules_.longest_pause_s);
  }

 private:
  ConductRules rules_;
  std::optional<Clock::time_point> since_;
  double pause_s_ = 0.5;
};

}  // namespace

void send(Executor& executor, SentJob& sent) {
  for (int attempt = 1;; ++attempt) {
    try {
      if (sent.noted("started").empty()) executor.copy_there(sent);
      executor.start(sent);
      sent.note("started", "yes");
      return;
    } catch (const Unreachable&) {  // many connections at once are refused now and then
      if (attempt == kAttempts) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(500 * attempt));
    }
  }
}

JobStatus conduct(Executor& executor, SentJob& sent, Session& session, const std::vector<Step>& plan,
                  const ConductRules& rules) {
  Intake intake(session, sent, plan);
  Patience patience(rules);
  bool broken = false, start_again = false;
  const auto goes_on = [&](const std::string& why) {
    start_again = true;
    session.say(why);
    if (!session.facts().empty()) session.append(record::Note{why});
  };
  for (;;) {
    const std::size_t before = intake.taken();
    try {
      if (start_again) executor.start(sent);
      start_again = false;
      intake.begin_anew();
      executor.follow(sent, [&](std::string_view line) {
        intake.take(line);
        broken = false;
        patience.reset();
      });
      const JobStatus status = executor.state(sent);
      patience.reset();
      sent.remember(status);
      const bool interrupted =
          status.exit_code == static_cast<int>(ExitCode::interrupted) && status.state != JobState::cancelled;
      if (interrupted && rules.bring_up) {
        rules.bring_up();
        goes_on(fmt::format("the job was interrupted ({}); it goes on", status.word));
        continue;
      }
      if (has_ended(status.state)) break;
    } catch (const Unreachable& problem) {
      if (intake.taken() > before) patience.reset();
      if (rules.bring_up && rules.bring_up()) {
        patience.reset();
        goes_on("the machine was taken away; it was started again, and the job goes on");
      }
      patience.wait(problem, session);
    } catch (const Error& problem) {
      // A line that was torn when its writer was killed: read anew it is whole, or it is broken for good.
      if (broken) throw;
      broken = true;
      session.say(problem.in_one_line());
    }
  }
  try {
    executor.bring_back(sent, session.folder().artifacts());
  } catch (const Error& problem) {
    session.say("its artifacts stay there: " + problem.in_one_line());
  }
  const record::Job last = record_of(sent, sent.status());
  const bool on_record =
      std::any_of(session.records().begin(), session.records().end(), [&](const Record& record) {
        return record.as<record::Job>() != nullptr && *record.as<record::Job>() == last;
      });
  if (!session.facts().empty() && !on_record) session.append(last);
  return sent.status();
}

}  // namespace dent
