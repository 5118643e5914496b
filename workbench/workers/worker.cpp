// SPDX-License-Identifier: MIT
#include "workers/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "records/json_text.h"
#include "base/stopwatch.h"

namespace dent {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;
constexpr int kWatchEveryMs = 50;    // how often memory and life are looked at while waiting
constexpr std::size_t kShown = 200;  // characters of garbage in a message

// How long a process's first thread was ready to run and did not, since its start; 0 where the system does
// not say.
double waited_for_processor_ns(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/schedstat");
  double ran = 0;
  double waited = 0;
  return file >> ran >> waited ? waited : 0;
}

}  // namespace

Worker::Closer::~Closer() {
  if (worker.requests_ >= 0) close(worker.requests_);
  if (worker.replies_ >= 0) close(worker.replies_);
}

Worker::Worker(WorkerSetup setup, const SharedMemory& pool)
    : setup_(std::move(setup)),
      results_("dent-results", std::max<std::size_t>(setup_.result_bytes, 1),
               SharedMemory::Children::may_write) {
  signal(SIGPIPE, SIG_IGN);  // a write to a dead worker is an error code here
  int down[2];
  int up[2];
  if (pipe2(down, O_CLOEXEC) != 0)
    throw Error(ErrorCode::environment, "can't make a pipe: too many open files");
  requests_ = down[1];
  if (pipe2(up, O_CLOEXEC) != 0) {
    close(down[0]);
    throw Error(ErrorCode::environment, "can't make a pipe: too many open files");
  }
  replies_ = up[0];
  Command command{.argv = setup_.argv,
                  .environment = setup_.environment,
                  .directory = setup_.directory,
                  .log = setup_.log,
                  .memory_bytes = setup_.memory_bytes,
                  .hard_memory_limit = setup_.hard_memory_limit,
                  .pass = {down[0], up[1], pool.descriptor(), results_.descriptor()}};
  try {
    process_.emplace(command);
  } catch (...) {
    close(down[0]);
    close(up[1]);
    throw;
  }
  close(down[0]);
  close(up[1]);
  json request = setup_.load;
  request["do"] = "load";
  request["protocol"] = protocol::kVersion;
  request["pool_bytes"] = pool.bytes();
  request["result_bytes"] = results_.bytes();
  loaded_ = ask(std::move(request), setup_.load_seconds);
}

void Worker::set_problem(const protocol::ProblemMessage& problem, double seconds) {
  json request = problem;
  request["do"] = "problem";
  ask(std::move(request), seconds);
}

void Worker::prepare(const std::vector<protocol::Offsets>& calls, double seconds) {
  ask({{"do", "prepare"}, {"offsets", calls}}, seconds);
}

protocol::Timed Worker::go(double seconds, double& wall_ns, std::uint64_t lot) {
  const double waited_before = waited_for_processor_ns(process_->id()) + waited_for_processor_ns(getpid());
  const auto start = Clock::now();
  const json reply = ask({{"do", "go"}, {"lot", lot}}, seconds);
  wall_ns = seconds_since(start) * 1e9;
  waited_ns_ = std::max(
      0.0, waited_for_processor_ns(process_->id()) + waited_for_processor_ns(getpid()) - waited_before);
  try {
    const auto timed = reply.get<protocol::Timed>();
    if (std::isfinite(timed.ns) && timed.ns >= 0) return timed;
  } catch (const json::exception&) {
  }
  fail(Failure::Kind::garbage, "answered no time: " + reply.dump().substr(0, kShown));
}

protocol::Kept Worker::keep(std::size_t call, double seconds) {
  const json reply = ask({{"do", "keep"}, {"call", call}}, seconds);
  try {
    return reply.get<protocol::Kept>();
  } catch (const json::exception&) {
    fail(Failure::Kind::garbage, "answered no result: " + reply.dump().substr(0, kShown));
  }
}

json Worker::launches(double seconds) { return ask({{"do", "launches"}}, seconds); }

Ending Worker::finish(double seconds) {
  close(requests_);
  requests_ = -1;
  return process_->wait(seconds);
}

json Worker::ask(json request, double seconds) {
  doing_ = request.at("do").get<std::string>();
  const long long id = next_id_++;
  request["id"] = id;
  const std::string line = request.dump() + "\n";
  refuse_unasked();
  const auto start = Clock::now();
  for (std::size_t sent = 0; sent < line.size();) {
    pollfd ready{requests_, POLLOUT, 0};
    if (::poll(&ready, 1, kWatchEveryMs) > 0) {
      const ssize_t n = write(requests_, line.data() + sent, std::min<std::size_t>(line.size() - sent, 4096));
      if (n < 0 && errno != EINTR && errno != EAGAIN) fail_as_it_ended(doing_);
      if (n > 0) sent += static_cast<std::size_t>(n);
    }
    if (seconds_since(start) > seconds) fail(Failure::Kind::hung, "took no request");
  }
  const std::string answer = read_line(seconds - seconds_since(start));
  if (setup_.role != "reference") add_waited_for_user(seconds_since(start));
  json reply = parse_json(answer);
  if (!reply.is_object() || reply.value("id", json()) != json(id)) {
    fail(Failure::Kind::garbage, "wrote something else than an answer: " + answer.substr(0, kShown));
  }
  if (const auto error = reply.find("error"); error != reply.end()) {
    fail(Failure::Kind::refused, error->is_string() ? error->get<std::string>() : error->dump());
  }
  return reply;
}

// Whatever lies in the pipe before a request is sent was not written by our worker program.
void Worker::refuse_unasked() {
  pollfd ready{replies_, POLLIN, 0};
  const bool more = ::poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN) != 0;
  if (unread_.empty() && !more) return;
  process_->kill(Ending::Kind::signalled);
  throw KernelFailed(
      {Failure::Kind::cheated,
       "an answer that nobody had asked for: something wrote into the pipe between dent and its worker",
       process_->last_words()});
}

std::string Worker::read_line(double seconds) {
  const auto start = Clock::now();
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (unread_.size() > protocol::kLongestLine) fail(Failure::Kind::garbage, "wrote an endless line");
    pollfd ready{replies_, POLLIN, 0};
    if (::poll(&ready, 1, kWatchEveryMs) > 0) {
      char buffer[4096];
      const ssize_t n = read(replies_, buffer, sizeof buffer);
      if (n > 0) {
        unread_.append(buffer, static_cast<std::size_t>(n));
        continue;
      }
      if (n == 0) fail_as_it_ended(doing_);
    }
    if (process_->over_memory()) {
      process_->kill(Ending::Kind::out_of_memory);
      fail(Failure::Kind::out_of_memory,
           "held more memory than its limit of " + std::to_string(setup_.memory_bytes >> 20) + " MiB");
    }
    if (seconds_since(start) > seconds) {
      process_->kill(Ending::Kind::timed_out);
      fail(Failure::Kind::hung, "did not answer within its time limit");
    }
  }
}

void Worker::fail(Failure::Kind kind, const std::string& what) {
  process_->kill(Ending::Kind::signalled);
  throw KernelFailed({kind, setup_.role + " (" + doing_ + "): " + what, process_->last_words(), setup_.role});
}

void Worker::fail_as_it_ended(const std::string& doing) {
  doing_ = doing;
  const Ending ending =
      process_->wait(2);  // its pipe is closed: it is about to end, or has closed it on purpose
  const auto kind = ending.kind == Ending::Kind::signalled ? Failure::Kind::crashed : Failure::Kind::exited;
  fail(kind, describe(ending) + " before it answered");
}

}  // namespace dent
