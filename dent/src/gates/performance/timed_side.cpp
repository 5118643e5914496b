// SPDX-License-Identifier: MIT
#include "gates/performance/timed_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gates/performance/loop_cost.h"
#include "measure/measuring_clock.h"

namespace dent {
namespace {

constexpr std::size_t kMostKept = 8;
constexpr double kKeepShare = 0.05;   // of batches, until kMostKept calls are kept
constexpr double kLongCallNs = 20e6;  // longer calls need no lead-in
constexpr int kMostAudits = 150;
constexpr double kAuditSeconds = 0.7;
constexpr double kPythonNsPerCall = 5000;  // upper limit for a Python loop's time per call
constexpr double kLoopMargin = 3;          // a real kernel leaves caches cold; an empty one does not
constexpr std::size_t kTrialCalls = 4;     // in a batch that tries a clock
constexpr int kTrials = 3;

std::size_t lead_for(std::size_t calls, double ns_per_call) {
  if (ns_per_call > kLongCallNs) return 0;
  return std::clamp<std::size_t>(calls / 4, 1, 64);
}

}  // namespace

TimedSide::TimedSide(Worker& worker, const Problem& problem, WorkerFactory& workers, std::uint64_t seed)
    : worker_(worker),
      problem_(problem),
      workers_(workers),
      random_(seed),
      most_calls_(std::max<std::size_t>(workers.most_calls(problem), 2)) {
  worker_.resume();
  const bool aimed =
      worker.loaded().kind == protocol::WorkerKind::native && worker.loaded().device == DeviceKind::cpu;
  auto message = message_for(problem, workers.pool(), most_calls_, workers.project().performance.flush,
                             aimed ? protocol::kRoom : 0);
  if (worker.loaded().device == DeviceKind::cuda) keep_parts(problem, message);
  for (const auto& input : message.inputs) rooms_.push_back(input.room);
  worker_.set_problem(message, workers.project().limits.call_seconds);
}

protocol::Timed TimedSide::stretch(std::size_t calls, double& wall_ns) {
  const double seconds = workers_.project().limits.call_seconds;
  setup_ns_ = worker_.set_up(seconds);
  const double begin_s = measuring_clock_s();
  if (problem_.has_sets()) worker_.pause();  // or its threads could read the new inputs early
  last_ = workers_.inputs().draw(problem_, calls, random_);
  if (problem_.has_sets()) worker_.resume();
  std::vector<protocol::Offsets> offsets;
  for (const CallInputs& call : last_) offsets.push_back(call.offsets);
  worker_.prepare(offsets, seconds);
  if (problem_.has_sets()) seconds_of_inputs_ += measuring_clock_s() - begin_s;
  // Drawn after all inputs are in place: the kernel can't know earlier which windows it will read.
  const std::uint64_t lot = random_.next() | 1U;
  for (std::size_t c = 0; c < calls; ++c) {
    for (std::size_t i = 0; i < rooms_.size(); ++i) {
      if (rooms_[i] > 0) last_[c].offsets[i] += protocol::aim(lot, c, i) / bytes_of(problem_.inputs[i].dtype);
    }
  }
  watched_ = protocol::watched(worker_.loaded().device == DeviceKind::cuda ? 0 : lot, calls);
  return worker_.go(seconds, wall_ns, {.lot = lot, .in_graph = in_graph_});
}

ClockTrial TimedSide::try_clocks() {
  if (other_ != nullptr) other_->pause();
  worker_.resume();
  const std::size_t calls = std::min(kTrialCalls, most_calls_);
  double ignored = 0;
  if (worker_.compiles())
    stretch(1, ignored);  // the first call may still compile, which a graph can't capture
  in_graph_ = true;       // set before the batch: it also measures the floor
  protocol::Timed graph = stretch(calls, ignored);
  in_graph_ = false;
  std::array<double, kTrials> ns{}, host_ns{};
  ClockTrial trial{.graph_floor_ns = graph.clock == TimedBy::graph ? graph.floor_ns : 0,
                   .not_captured = graph.not_captured};
  for (std::size_t i = 0; i < kTrials; ++i) {
    const protocol::Timed events = stretch(calls, ignored);
    ns[i] = events.ns / static_cast<double>(calls);
    host_ns[i] = events.host_ns / static_cast<double>(calls);
    trial.events_floor_ns = events.floor_ns;
  }
  std::sort(ns.begin(), ns.end());
  std::sort(host_ns.begin(), host_ns.end());
  trial.ns = ns[kTrials / 2];
  trial.host_ns = host_ns[kTrials / 2];
  return trial;
}

// Untimed calls wake threads and fill code caches. They have their own inputs, and the inputs of the timed
// calls do not exist yet, so none of the timed work can be done ahead.
void TimedSide::lead_in(std::size_t calls) {
  double ignored = 0;
  if (const std::size_t lead = lead_for(calls, ns_per_call_); lead > 0) stretch(lead, ignored);
}

// Of every two batches a random one is twice as long.
bool TimedSide::next_is_long() {
  const bool second = clocks_.size() % 2 == 1;
  if (!second) long_first_ = random_.unit() < 0.5;
  return second != long_first_;
}

Timing TimedSide::run(int calls) {
  if (other_ != nullptr) other_->pause();
  worker_.resume();
  asked_ = calls;
  const auto least = std::min(static_cast<std::size_t>(calls), most_calls_ / 2);
  const std::size_t count = next_is_long() ? 2 * least : least;
  lead_in(count);
  double wall_ns = 0;
  const protocol::Timed timed = stretch(count, wall_ns);
  if (in_graph_ && timed.clock != TimedBy::graph) {
    throw KernelFailed(
        {FailureKind::refused,
         "its calls could be captured in a graph before, but now they can't: " + timed.not_captured,
         {},
         worker_.role()});
  }
  if (!(timed.ns <= wall_ns)) {
    throw KernelFailed(
        {FailureKind::cheated,
         fmt::format("{} counted {:.0f} ns while {:.0f} ns passed", name(worker_.role()), timed.ns, wall_ns),
         {},
         worker_.role(),
         Cheat::clock_tampered});
  }
  clocks_.push_back({count, timed.ns, wall_ns, worker_.waited_ns()});
  ns_per_call_ = timed.ns / static_cast<double>(count);
  if (kept_.size() < kMostKept && random_.unit() < kKeepShare) keep_one();
  Timing taken{.ns = ns_per_call_ * calls, .clock_mhz = {}};
  if (timed.waited_ns) taken.waited_ns = *timed.waited_ns / static_cast<double>(count) * calls;
  return taken;
}

void TimedSide::keep_one() {
  worker_.resume();
  // Keeps either the call that was watched for late writes or a random one.
  const std::size_t call = kept_.size() % 2 == 0 ? watched_ : random_.below(last_.size());
  KeptCall kept;
  workers_.inputs().bring_back(problem_, last_[call]);  // for comparison with the pool
  kept.kept = worker_.keep(call, workers_.project().limits.call_seconds);
  kept.inputs = last_[call];
  kept.outputs = delivered(worker_, problem_);
  kept_.push_back(std::move(kept));
}

ClockAudit TimedSide::audit() {
  // On a GPU caches are flushed between calls on the same stream, and that time belongs to no call.
  if (worker_.loaded().device == DeviceKind::cuda) return {};
  ClockRules rules;
  const bool python = worker_.loaded().kind == protocol::WorkerKind::python;
  if (python) rules.ns_per_call = kPythonNsPerCall;
  ClockAudit audit = audit_clocks(clocks_, rules);
  if (audit.verdict != ClockVerdict::honest && !python) {
    worker_.pause();
    rules.ns_per_call = std::max(rules.ns_per_call, kLoopMargin * loop_cost_ns(workers_, problem_));
    worker_.resume();
  }
  audit = audit_stretches(asked_, rules);
  const int most = static_cast<int>(most_calls_ / 2);
  if (audit.verdict != ClockVerdict::tampered || asked_ >= most) return audit;
  // Uncounted calls add up with the number of calls. A core that wakes up more slowly after a longer rest
  // adds a constant instead, which would look like tampering: so the longest batches must show it too. If
  // they don't, the uncounted time of the others still widens the interval.
  clocks_.clear();
  ClockAudit longest = audit_stretches(most, rules);
  if (longest.verdict == ClockVerdict::tampered) return longest;
  return {ClockVerdict::unclear, "", audit.uncounted};
}

// Adds batches until the verdict is clear or the time for the audit is spent.
ClockAudit TimedSide::audit_stretches(int calls, const ClockRules& rules) {
  ClockAudit audit = audit_clocks(clocks_, rules);
  double spent_ns = 0;
  for (int i = 0; i < kMostAudits && spent_ns < kAuditSeconds * 1e9 && audit.verdict == ClockVerdict::unclear;
       ++i) {
    run(calls);
    spent_ns += clocks_.back().passed_ns;
    if (i % 8 == 7) audit = audit_clocks(clocks_, rules);
  }
  return audit;
}

}  // namespace dent
