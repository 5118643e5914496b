// SPDX-License-Identifier: MIT
#include "session/event_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "records/json.h"

namespace dent {

void fields(Fields& f, Running& running) {
  f("what", running.what, "for people");
  f("executor", running.executor, "that does it");
  f.may("where", running.where, "machine and device, as far as they are known");
  f.may("doing", running.doing, "the step that it is at, or the state that it is in");
  f("seconds", running.seconds, "since it was sent");
}

void fields(Fields& f, Event& event) {
  f("event", event.event, "what happened");
  f.may("number", event.number, "of the step, counted from 1");
  f.may("of", event.of, "steps, as far as it is known");
  f.may("step", event.step, "its name");
  f.may("share", event.share, "of its work that is done");
  f.may("text", event.text, "what it does, how it ended, or a note");
  f("verdict", event.verdict, "how it ended");
  f.may("seconds", event.seconds, "that it took");
  f.may("running", event.running, "what is done at the moment");
}

EventStream::EventStream(int descriptor) : descriptor_(descriptor) {
  if (fcntl(descriptor, F_SETFD, FD_CLOEXEC) < 0) {  // workers have no business there
    throw Error(ErrorCode::invalid, "descriptor " + std::to_string(descriptor) + " of --events is not open",
                "open it for dent: dent run --events 3 3>events.jsonl");
  }
  signal(SIGPIPE, SIG_IGN);  // whoever read may leave
}

void EventStream::plan(const std::vector<Step>& plan, std::size_t done_already) {
  of_ = static_cast<std::int64_t>(plan.size());
  tell({.event = EventKind::plan, .number = static_cast<std::int64_t>(done_already), .of = of_});
}

void EventStream::begin(const Step& step, std::size_t number, std::size_t of) {
  number_ = static_cast<std::int64_t>(number);
  of_ = static_cast<std::int64_t>(of);
  step_ = step.name;
  tell({.event = EventKind::begin, .number = number_, .of = of_, .step = step_});
}

void EventStream::progress(double share, const std::string& doing) {
  tell({.event = EventKind::progress,
        .number = number_,
        .of = of_,
        .step = step_,
        .share = share,
        .text = doing});
}

void EventStream::note(const std::string& text) { tell({.event = EventKind::note, .text = text}); }

void EventStream::end(const Step& step, const GateResult& result, double seconds) {
  tell({.event = EventKind::end,
        .number = number_,
        .of = of_,
        .step = step.name,
        .share = 1,
        .text = result.reason(),
        .verdict = result.verdict(),
        .seconds = seconds});
}

void EventStream::running(const std::vector<Running>& all) {
  tell({.event = EventKind::running, .running = all});
}

void EventStream::tell(const Event& event) {
  const std::lock_guard lock(telling_);
  pollfd ready{descriptor_, POLLOUT, 0};
  if (descriptor_ < 0 || poll(&ready, 1, 0) != 1) return;  // full: nobody has read for long
  const std::string line = to_json_text(event) + "\n";
  ssize_t written = 0;
  do {
    written = ::write(descriptor_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(line.size())) descriptor_ = -1;
}

}  // namespace dent
