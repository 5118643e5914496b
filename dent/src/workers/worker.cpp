// SPDX-License-Identifier: MIT
#include "workers/worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/stopwatch.h"
#include "system/changed_code.h"

namespace dent {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kWatchEveryMs = 50;  // how often memory and life signs are checked while waiting
constexpr std::int64_t kMemoryBesides = std::int64_t{256} << 20;  // page tables, pages of the log
constexpr double kReportSeconds = 20;  // for a memory checker to report its findings
constexpr std::size_t kShown = 200;    // characters of an invalid reply in a message
constexpr std::chrono::seconds kUntilAllAreEnded{3};

}  // namespace

Worker::Closer::~Closer() {
  if (worker.requests_ >= 0) close(worker.requests_);
  if (worker.replies_ >= 0) close(worker.replies_);
}

Worker::Remover::~Remover() {
  std::error_code ignored;
  if (!setup.scratch.empty()) std::filesystem::remove_all(setup.scratch, ignored);
}

Worker::Worker(WorkerSetup setup, const SharedMemory& pool)
    : setup_(std::move(setup)),
      results_("dent-results", std::max<std::size_t>(setup_.result_bytes, 1),
               SharedMemory::Children::may_write) {
  signal(SIGPIPE, SIG_IGN);  // so that writing to a dead worker returns an error
  int down[2];
  int up[2];
  if (pipe2(down, O_CLOEXEC) != 0)
    throw Error(ErrorCode::environment, "can't create a pipe: too many open files",
                "raise the limit (ulimit -n) or close other programs");
  requests_ = down[1];
  if (pipe2(up, O_CLOEXEC) != 0) {
    close(down[0]);
    throw Error(ErrorCode::environment, "can't create a pipe: too many open files",
                "raise the limit (ulimit -n) or close other programs");
  }
  replies_ = up[0];
  Command command{.argv = setup_.argv,
                  .environment = setup_.environment,
                  .directory = setup_.directory,
                  .log = setup_.log,
                  .memory_bytes = setup_.memory_bytes,
                  .shared_bytes = static_cast<std::int64_t>(pool.bytes() + results_.bytes()),
                  .hard_memory_limit = setup_.hard_memory_limit,
                  .pass = {down[0], up[1], pool.descriptor(), results_.descriptor()},
                  .confined = setup_.confined};
  // The sandbox's limit also covers files in memory and growth too fast for the checks here.
  CellView view = setup_.view;
  if (command.memory_bytes > 0)
    view.limits.memory_bytes = command.memory_bytes + command.shared_bytes + kMemoryBesides;
  setup_.cell.enclose(command, view);
  try {
    process_.emplace(command);
  } catch (...) {
    close(down[0]);
    close(up[1]);
    throw;
  }
  close(down[0]);
  close(up[1]);
  dents_ = conditions_of(getpid());
  protocol::Load request = setup_.load;
  request.pool_bytes = pool.bytes();
  request.result_bytes = results_.bytes();
  ask(
      protocol::Verb::load, [&](Fields& f) { fields(f, request); }, [this](Fields& f) { fields(f, loaded_); },
      setup_.load_seconds);
  for (const std::string& path : loaded_.code) {
    CodeFile file{path, {}};
    if (stat(path.c_str(), &file.was) == 0) code_.push_back(std::move(file));
  }
}

void Worker::set_problem(const protocol::ProblemMessage& problem, double seconds) {
  protocol::ProblemMessage request = problem;
  ask(
      protocol::Verb::problem, [&](Fields& f) { fields(f, request); }, {}, seconds);
  first_call_ = true;
}

std::vector<TunedKernel> Worker::pin(const std::vector<TunedKernel>& tuned, double seconds) {
  protocol::Jit request{tuned}, answer;
  ask(
      protocol::Verb::jit, [&](Fields& f) { fields(f, request); }, [&](Fields& f) { fields(f, answer); },
      seconds);
  return answer.tuned;
}

double Worker::set_up(double seconds) {
  protocol::SetUp done;
  if (!loaded_.sets_up) return 0;
  ask(
      protocol::Verb::setup, {}, [&](Fields& f) { fields(f, done); },
      seconds + (first_call_ ? setup_.compile_seconds : 0));
  return done.ns;
}

void Worker::prepare(const std::vector<protocol::Offsets>& calls, double seconds) {
  set_up(seconds);
  protocol::Prepare request{calls};
  ask(
      protocol::Verb::prepare, [&](Fields& f) { fields(f, request); }, {}, seconds);
}

protocol::Kept Worker::keep(std::size_t call, double seconds) {
  protocol::Keep request{call};
  protocol::Kept kept;
  ask(
      protocol::Verb::keep, [&](Fields& f) { fields(f, request); }, [&](Fields& f) { fields(f, kept); },
      seconds);
  return kept;
}

protocol::Launches Worker::launches(double seconds) {
  protocol::Launches launches;
  ask(
      protocol::Verb::launches, {}, [&](Fields& f) { fields(f, launches); }, seconds);
  return launches;
}

Ending Worker::finish(double seconds) {
  close(requests_);
  requests_ = -1;
  return process_->wait(seconds);
}

void Worker::ask(protocol::Verb verb, const Pass& request, const Pass& answer, double seconds) {
  doing_ = verb;
  const DeviceTurns::Turn turn = turn_for(verb);
  std::int64_t id = next_id_++;
  const std::string line = write_json([&](Fields& f) {
                             f("id", id, "id of the request");
                             f("do", doing_, "the request");
                             if (request) request(f);
                           }) +
                           "\n";
  refuse_unasked();
  const auto start = Clock::now();
  for (std::size_t sent = 0; sent < line.size();) {
    if (becomes_ready(requests_, POLLOUT)) {
      const ssize_t n = write(requests_, line.data() + sent, std::min<std::size_t>(line.size() - sent, 4096));
      if (n < 0 && errno != EINTR && errno != EAGAIN) fail_as_it_ended();
      if (n > 0) sent += static_cast<std::size_t>(n);
    }
    if (seconds_since(start) > seconds) fail(FailureKind::hung, "did not read its request in time");
  }
  const std::string reply = read_line(seconds - seconds_since(start));
  if (setup_.role != Role::reference) add_waited_for_user(seconds_since(start));
  std::optional<protocol::Refusal> refusal;
  try {
    read_json(reply, [&](Fields& f) {
      std::int64_t answered = 0;
      std::optional<std::string> error;
      f("id", answered, "id of the request");
      if (answered != id) throw Error(ErrorCode::invalid, "the reply belongs to another request");
      f("error", error, "why the request failed");
      if (error) {
        fields(f, refusal.emplace());
      } else if (answer) {
        answer(f);
      }
    });
  } catch (const Error&) {
    fail(FailureKind::garbage, "wrote an invalid reply: " + reply.substr(0, kShown));
  }
  if (refusal && refusal->code == FailureKind::cheated)
    accuse(setup_.role, Cheat::late_write, refusal->error);
  if (refusal && refusal->internal) fail_internally(refusal->error);
  if (refusal) fail(refusal->code, refusal->error);
}

// Loading needs no turn: it takes seconds and launches nothing.
DeviceTurns::Turn Worker::turn_for(protocol::Verb verb) const {
  const bool launches = setup_.load.device == DeviceKind::cuda && verb != protocol::Verb::load;
  return launches && setup_.turns != nullptr ? setup_.turns->take() : DeviceTurns::Turn();
}

bool Worker::becomes_ready(int descriptor, short events) {
  pollfd ready[] = {{descriptor, events, 0}, {process_->waiting_calls(), POLLIN, 0}};
  if (::poll(ready, 2, kWatchEveryMs) <= 0) return false;
  if (ready[1].revents != 0) check_confinement();
  return ready[0].revents != 0;
}

void Worker::pause() {
  process_->pause();
  if (const auto more = privilege(process_->when_paused(), dents_)) {
    accuse(setup_.role, Cheat::raised_priority, *more);
  }
}

void Worker::resume() {
  const auto found = process_->resume();
  if (!found) return;
  if (found->ran) accuse(setup_.role, Cheat::ran_while_stopped, found->what);
  // A container manager changes dent and its workers alike.
  const bool all_of_us = difference(dents_, conditions_of(getpid())).has_value();
  if (all_of_us || setup_.role == Role::candidate) {
    throw Error(ErrorCode::environment,
                fmt::format("another program changed the {}'s process while it was paused: {}",
                            name(setup_.role), found->what),
                "keep other programs from changing dent's processes (renice, taskset, a container's "
                "manager), then measure again");
  }
  accuse(Role::candidate, Cheat::reached_out,
         fmt::format("the {} was paused and {}", name(setup_.role), found->what));
}

void Worker::check_confinement() {
  if (const auto refused = process_->trespass())
    accuse(setup_.role, refused->of_its_own ? Cheat::worker_tampered : Cheat::reached_out, refused->call);
}

void Worker::check_code() const {
  const auto same = [](const timespec& a, const timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  };
  for (const CodeFile& file : code_) {
    struct stat now {};
    if (stat(file.path.c_str(), &now) != 0 || now.st_ino != file.was.st_ino || now.st_dev != file.was.st_dev)
      continue;  // the file was replaced; this process still has the old one mapped
    const bool written = !same(now.st_mtim, file.was.st_mtim) || now.st_size != file.was.st_size;
    if (written && setup_.role != Role::candidate) {
      throw KernelFailed(
          {FailureKind::cheated,
           fmt::format("{}, whose code the {} runs, was written to", file.path.string(), name(setup_.role)),
           {},
           Role::candidate,
           Cheat::reached_out});
    }
    if (!same(now.st_ctim, file.was.st_ctim)) {  // mtime can be set back, ctime can't
      throw Error(ErrorCode::environment,
                  fmt::format("{}, whose code the {} runs, was changed during the measurement",
                              file.path.string(), name(setup_.role)),
                  "measure again without changing the files of either kernel");
    }
  }
}

void Worker::check_own_code() {
  if (setup_.load.profile) return;  // a profiler may write to the profiled code
  if (const std::string file = changed_code(process_->program()); !file.empty())
    accuse(setup_.role, Cheat::worker_tampered,
           fmt::format("the code of {} was rewritten in its memory", file));
}

void Worker::accuse(Role who, Cheat of, const std::string& what) {
  process_->kill(Ending::Kind::signalled);
  throw KernelFailed({FailureKind::cheated, what, process_->last_words(), who, of});
}

// An action that this process would not take on itself, so another process did.
void Worker::touched_from_outside(FailureKind kind, const std::string& what) {
  if (setup_.role == Role::candidate || setup_.candidate_confined) fail(kind, what);
  accuse(Role::candidate, Cheat::reached_out, fmt::format("the {} {}", name(setup_.role), what));
}

// Data in the pipe before a request is sent did not come from our worker program.
void Worker::refuse_unasked() {
  check_confinement();
  pollfd ready{replies_, POLLIN, 0};
  const bool more = ::poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN) != 0;
  if (unread_.empty() && !more) return;
  process_->kill(Ending::Kind::signalled);
  throw KernelFailed({FailureKind::cheated, "something wrote into the pipe between dent and its worker",
                      process_->last_words(), setup_.role, Cheat::unasked_answer});
}

std::string Worker::read_line(double seconds) {
  const auto start = Clock::now();
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (unread_.size() > protocol::kLongestLine) fail(FailureKind::garbage, "wrote a reply that is too long");
    if (becomes_ready(replies_, POLLIN)) {
      char buffer[4096];
      const ssize_t n = read(replies_, buffer, sizeof buffer);
      if (n > 0) {
        unread_.append(buffer, static_cast<std::size_t>(n));
        continue;
      }
      if (n == 0) fail_as_it_ended();
    }
    if (process_->stopped()) touched_from_outside(FailureKind::hung, "was stopped by a signal");
    process_->shorten_log();
    if (process_->over_memory()) {
      process_->kill(Ending::Kind::out_of_memory);
      fail_over_memory();
    }
    if (seconds_since(start) > seconds) {
      process_->kill(Ending::Kind::timed_out);
      fail(FailureKind::hung, "did not answer within its time limit");
    }
  }
}

void Worker::fail(FailureKind kind, const std::string& what) {
  if (setup_.role == Role::sanitized && requests_ >= 0) finish(kReportSeconds);
  process_->kill(Ending::Kind::signalled);
  throw KernelFailed({kind, fmt::format("{} ({}): {}", name(setup_.role), name(doing_), what),
                      process_->last_words(), setup_.role});
}

// Reports a fault of dent's worker, but only if no code of the candidate runs in it: that code could cause
// such a fault in order to end the session.
void Worker::fail_internally(const std::string& what) {
  const std::string fault = "dent's own worker failed: " + what;
  if (setup_.role != Role::baseline && setup_.role != Role::reference) fail(FailureKind::refused, fault);
  process_->kill(Ending::Kind::signalled);
  throw Error(ErrorCode::internal,
              fmt::format("{}, as it served the {} ({})", fault, name(setup_.role), name(doing_)),
              "report this to the authors of dent, and attach " + setup_.log.string());
}

void Worker::fail_over_memory() {
  fail(FailureKind::out_of_memory,
       "held more memory than its limit of " + std::to_string(setup_.memory_bytes >> 20) + " MiB");
}

void Worker::fail_as_it_ended() {
  // Its pipe is closed: it is about to end, or it closed the pipe on purpose.
  const Ending ending = process_->wait(2);
  if (ending.kind == Ending::Kind::out_of_memory) fail_over_memory();
  // A scheduler ends all processes of a job with SIGTERM; wait, so that dent ends before this becomes a
  // verdict.
  if (ending.kind == Ending::Kind::signalled && ending.code == SIGTERM)
    std::this_thread::sleep_for(kUntilAllAreEnded);
  const auto kind = ending.kind == Ending::Kind::signalled ? FailureKind::crashed : FailureKind::exited;
  if (ending.code == SIGKILL && ending.system_out_of_memory == false)
    touched_from_outside(kind, describe(ending));
  fail(kind, describe(ending) + " before it answered");
}

}  // namespace dent
