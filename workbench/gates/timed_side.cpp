// SPDX-License-Identifier: MIT
#include "gates/timed_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace dent {
namespace {

constexpr std::size_t kMostKept = 3;
constexpr double kKeepShare = 0.02;        // of stretches, until kMostKept are there
constexpr double kLongCallNs = 20e6;       // a call this long needs no lead-in
constexpr double kAuditNs = 30e6;          // length of a stretch that is timed on both clocks
constexpr double kAuditSlack = 1.25;       // our clock also sees the way to the worker and back,
constexpr double kAuditSlackNs = 2e6;      // and whatever else this machine does
constexpr int kAudits = 3;

std::size_t lead_for(std::size_t calls, double ns_per_call) {
  if (ns_per_call > kLongCallNs) return 0;
  return std::clamp<std::size_t>(calls / 4, 1, 64);
}

}  // namespace

TimedSide::TimedSide(Worker& worker, const Problem& problem, Workshop& workshop, std::uint64_t seed)
    : worker_(worker),
      problem_(problem),
      workshop_(workshop),
      random_(seed),
      most_calls_(workshop.most_calls(problem) * 4 / 5) {
  worker_.resume();
  worker_.set_problem(message_for(problem, workshop.pool(), workshop.most_calls(problem), workshop.project().performance.flush),
                      workshop.project().limits.call_seconds);
}

protocol::Timed TimedSide::stretch(std::size_t calls, std::size_t lead, double& wall_ns) {
  if (other_ != nullptr) other_->pause();
  worker_.resume();
  const double seconds = workshop_.project().limits.call_seconds;
  last_.clear();
  for (std::size_t c = 0; c < calls + lead; ++c) last_.push_back(InputPool::draw(problem_, random_));
  worker_.prepare(last_, lead, seconds);
  return worker_.go(seconds, wall_ns);
}

Timing TimedSide::run(int calls) {
  const auto count = std::min(static_cast<std::size_t>(calls), most_calls_);
  double wall_ns = 0;
  const protocol::Timed timed = stretch(count, lead_for(count, ns_per_call_), wall_ns);
  if (!(timed.ns <= wall_ns)) {
    throw KernelFailed({Failure::Kind::cheated,
                        fmt::format("{}: counted {:.0f} ns while {:.0f} ns passed", worker_.role(), timed.ns, wall_ns), {}});
  }
  ns_per_call_ = timed.ns / static_cast<double>(count);
  ++stretches_;
  if (kept_.size() < kMostKept && random_.unit() < kKeepShare) keep_one();
  return {.ns = timed.ns * static_cast<double>(calls) / static_cast<double>(count), .clock_mhz = {}};
}

void TimedSide::keep_one() {
  worker_.resume();
  // The last call of a stretch is also watched for late writes; others are drawn as well.
  const std::size_t call = kept_.empty() ? last_.size() - 1 : random_.below(last_.size());
  KeptCall kept;
  kept.kept = worker_.keep(call, workshop_.project().limits.call_seconds);
  kept.offsets = last_[call];
  kept.outputs = delivered(worker_, problem_);
  kept_.push_back(std::move(kept));
}

std::string TimedSide::audit() {
  const double wanted = ns_per_call_ > 0 ? kAuditNs / ns_per_call_ : 1;
  const auto calls = static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(most_calls_)));
  std::string finding;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kAudits; ++i) {
    double wall_ns = 0;
    const protocol::Timed timed = stretch(calls, 0, wall_ns);
    if (wall_ns <= kAuditSlack * timed.ns + kAuditSlackNs) return {};
    if (wall_ns - timed.ns < least) {
      least = wall_ns - timed.ns;
      finding = fmt::format("its clock counted {:.2f} ms for {} calls while {:.2f} ms passed", timed.ns / 1e6, calls,
                            wall_ns / 1e6);
    }
  }
  return finding;
}

}  // namespace dent
