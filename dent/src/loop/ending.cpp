// SPDX-License-Identifier: MIT
// The end: the winner again, from a clean checkout, with fresh seeds, on shapes that no proposer has seen.
#include <fmt/format.h>

#include <algorithm>

#include "evaluation/held_out.h"
#include "loop/loop.h"
#include "operators/fill.h"
#include "system/durable_file.h"

namespace dent {
namespace {

// Builds of this session, of candidates that are gone.
void remove_builds(const std::filesystem::path& dent_folder, const std::string& session) {
  std::error_code ignored;
  for (const char* folder : {"build", "sanitized"}) {
    std::vector<std::filesystem::path> ours;
    for (const auto& entry : std::filesystem::directory_iterator(dent_folder / folder, ignored)) {
      if (entry.path().filename().string().rfind(session, 0) == 0) ours.push_back(entry.path());
    }
    for (const auto& entry : ours) std::filesystem::remove_all(entry, ignored);
  }
}

}  // namespace

void Loop::end(LoopEnding ending, const std::string& reason) {
  append(record::LoopEnd{
      .ending = ending, .reason = reason, .held_out = held_out_shapes(project_, secret_seed())});
}

void Loop::validate_winner() {
  candidate_.reset();
  incumbent_.reset();
  write_durably(artifacts() / "winner.patch", repository_.difference(state_.base, state_.incumbent_commit()));
  LoopPart wanted = part(PartKind::validation, fmt::format("winner/{:03}", state_.last_kept()->number));
  wanted.candidate.name = kernel_name("winner");
  wanted.opponent = PartKernel{.name = kernel_name("start"), .choice = state_.start};
  wanted.held_out = state_.ended->held_out;
  if (elsewhere_) return measure_incumbent(std::move(wanted));
  here_->against_baseline.restart();
  const Worktree clean(repository_, worktrees() / "winner", state_.incumbent_commit());
  const Worktree before(repository_, worktrees() / "start", state_.base);
  const PartKernels kernels{kernel_in(clean, wanted.candidate), kernel_in(before, *wanted.opponent)};
  here_->against_baseline.set_candidate(kernels.candidate);
  perform(wanted, kernels, session_, here_->against_baseline);
}

Conclusion Loop::finish() {
  candidate_.reset();
  incumbent_.reset();
  if (here_) here_->against_baseline.restart();
  remove_builds(store_.folder(), session_.folder().id);
  const Conclusion end = session_.conclude(conclusion());
  repository_.remove_worktrees(worktrees());
  if (elsewhere_) elsewhere_->forget_tree();
  return end;
}

Conclusion Loop::interrupted(const Interrupted& how) const {
  return {.id = session_.folder().id,
          .verdict = Verdict::interrupted,
          .reason = how.what(),
          .next = "dent resume " + session_.folder().id,
          .code = ExitCode::interrupted};
}

// Uncommitted work that the loop started from is in its branch: git would not merge that over itself.
std::string Loop::how_to_take_it_over() const {
  const bool mergeable = !repository_.is_private() &&
                         repository_.try_git({"merge-base", "--is-ancestor", state_.base, "HEAD"}).ok();
  return (repository_.is_private() ? "" : fmt::format("look at it: git log -p {}; ", state_.branch)) +
         "take it over: git " +
         (mergeable ? "merge " + state_.branch
                    : fmt::format("apply .dent/sessions/{}/artifacts/winner.patch", session_.folder().id));
}

Conclusion Loop::conclusion() {
  const auto end = [this](Verdict verdict, std::string reason, std::string next) {
    return Conclusion{session_.folder().id, verdict, std::move(reason), std::move(next), exit_code(verdict)};
  };
  if (const record::Gate* gate = stopped_by(session_.facts(), state_, spent().has_value()))
    return end(verdict_of(gate->cause.value_or(Cause::environment)), gate->reason, gate->next);

  const LoopEnding ending = state_.ended->ending;
  const bool missed = state_.target > 0 && state_.towards_target() < state_.target;
  const bool kept = state_.last_kept() != nullptr;
  const auto keeps =
      std::count_if(state_.iterations.begin(), state_.iterations.end(),
                    [](const Iteration& iteration) { return iteration.outcome && iteration.outcome->kept; });
  std::string reason = fmt::format(
      "{:.3g}x of {} to {:.3g}x; {} of {} changes kept; {}", state_.first ? state_.first->ratio.centre : 0,
      session_.facts().session().baseline, state_.speedup(), keeps, state_.done(),
      missed && ending == LoopEnding::target_reached
          ? "it was when the last change was kept, and is not with the winner built again"
          : state_.ended->reason);
  if (state_.target > 0 && !state_.target_shape.empty()) {
    reason += fmt::format("; {:.3g}x{}", state_.towards_target(), where_the_target_counts(state_));
  }
  const std::string next = kept ? how_to_take_it_over() : "";
  if (!missed) return end(kept ? Verdict::faster : Verdict::same, std::move(reason), next);
  const bool ran_out = ending == LoopEnding::budget_spent || ending == LoopEnding::iterations;
  return end(
      ran_out ? Verdict::budget : Verdict::missed,
      fmt::format("target {}x{} not reached: {}", state_.target, where_the_target_counts(state_), reason),
      next);
}

}  // namespace dent
