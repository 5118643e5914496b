// SPDX-License-Identifier: MIT
#include "gates/correctness/correctness.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "base/stopwatch.h"
#include "gates/judging/misbehaviour.h"
#include "gates/judging/replays.h"

namespace dent {
namespace {

// Time for threads that were left behind to show themselves.
constexpr auto kLateWriteWait = std::chrono::milliseconds(3);
constexpr auto kLateWritePatience = std::chrono::milliseconds(100);

record::Correctness record_of(const Problem& problem, int seeds, const Agreement& all) {
  return {.shape = problem.shape,
          .seeds = seeds,
          .elements = static_cast<std::int64_t>(all.elements),
          .bad = static_cast<std::int64_t>(all.bad),
          .unchecked = static_cast<std::int64_t>(all.skipped),
          .unwritten = static_cast<std::int64_t>(all.unwritten),
          .max_error = all.max_error,
          .mean_error = all.mean_error,
          .bound = all.bound,
          .share_of_bound = all.largest_share,
          .verdict = all.ok() ? StepVerdict::pass : StepVerdict::fail,
          .first_bad = all.first_bad_record};
}

GateResult wrong(const Agreement& all) {
  std::string reason =
      fmt::format("{} of {} elements are wrong; first: {}", all.bad, all.elements, all.first_bad);
  if (all.unwritten > 0) reason += fmt::format("; {} were never written", all.unwritten);
  return failed(Cause::incorrect, std::move(reason),
                "start from the smallest shape that fails: dent check --shape NAME");
}

}  // namespace

GateResult CorrectnessGate::run(Worker& candidate, const Problem& problem, std::uint64_t seed,
                                const Progress& progress) {
  const CorrectnessRules& rules = workshop_.project().correctness;
  const double seconds = workshop_.project().limits.call_seconds;
  const std::string step = "correctness/" + problem.shape;
  const auto start = std::chrono::steady_clock::now();
  Random random(seed);
  candidate.set_problem(message_for(problem, workshop_.pool(), 1, false), seconds);
  Agreement all;
  Replays replays;
  int seeds = 0;
  double wall_ns = 0;
  for (; seeds < rules.seeds; ++seeds) {
    progress(static_cast<double>(seeds) / rules.seeds, fmt::format("seed {} of {}", seeds + 1, rules.seeds));
    workshop_.pool().fill(problem, random.next());
    const auto offsets = InputPool::draw(problem, random);
    const auto once = [&] {
      candidate.prepare({offsets}, seconds);
      candidate.go(seconds, wall_ns);
      std::this_thread::sleep_for(kLateWriteWait);
      return candidate.keep(0, seconds);
    };
    auto problem_found = misbehaviour(once(), step, problem);
    const Delivered outputs = delivered(candidate, problem);
    if (!problem_found) {
      all.absorb(oracle_.judge(problem, offsets, outputs));
      if (!all.ok()) {  // wrong, or not written yet?
        std::this_thread::sleep_for(kLateWritePatience);
        problem_found = misbehaviour(candidate.keep(0, seconds), step, problem);
      }
      if (problem_found) {
        // a thread was at work
      } else if (!all.ok() && replays.seen(offsets, outputs))
        problem_found = cheat(Cheat::replayed_output, all.first_bad, step, problem.shape);
      else if (!all.ok())
        problem_found = wrong(all);
      else if (all.zeros_would_pass) {
        problem_found =
            failed(Cause::environment, "the tolerance is so wide that an output of zeros would pass",
                   "make operator.tolerance smaller, or the inputs larger");
      }
    }
    if (!problem_found && rules.deterministic) {
      problem_found = misbehaviour(once(), step, problem);
      if (!problem_found && delivered(candidate, problem) != outputs) {
        problem_found = failed(
            Cause::incorrect, "the same input gave other bits the second time",
            "look for a race or uninitialised memory; if it is meant, set correctness.deterministic = false");
      }
    }
    replays.remember(offsets, outputs);
    if (!problem_found) problem_found = left_behind(step, problem);
    if (problem_found) {
      problem_found->records.insert(problem_found->records.begin(), record_of(problem, seeds + 1, all));
      return *problem_found;
    }
    const double elapsed = seconds_since(start);
    if (seeds + 1 < rules.seeds && elapsed > rules.seconds * (seeds + 1) / (seeds + 2)) {
      ++seeds;
      break;  // another one would not fit into the time box; this many have passed
    }
  }
  GateResult result = passed(fmt::format(
      "{} elements within their bounds, largest error {:.2g} ({:.0f} % of its bound), {} {}{}", all.elements,
      all.max_error, 100 * all.largest_share, seeds, seeds == 1 ? "seed" : "seeds",
      all.skipped > 0 ? fmt::format(", rows drawn by lot of {} elements", all.elements + all.skipped) : ""));
  result.records.emplace_back(record_of(problem, seeds, all));
  return result;
}

}  // namespace dent
