// SPDX-License-Identifier: MIT
#include "loop/loop.h"

#include <fmt/format.h>

#include "accounting/budget.h"
#include "project/choice.h"
#include "project/manifest.h"

namespace dent {
namespace {

std::size_t planned_steps(const Project& project, const LoopOptions& options) {
  return 3 + 5 * project.shapes.size() + static_cast<std::size_t>(most_iterations(project, options));
}

}  // namespace

int most_iterations(const Project& project, const LoopOptions& options) {
  return options.iterations.value_or(project.budget.iterations > 0 ? project.budget.iterations
                                                                   : kUsualIterations);
}

Loop::Here::Here(const Project& project, const SessionStore& store, const std::filesystem::path& artifacts)
    : builder(project, store.folder(), find_resources().include),
      workers(project, find_resources(), builder),
      oracle(workers, artifacts),
      against_baseline(workers, oracle, project.kernel, artifacts) {}

Loop::Loop(const Project& project, SessionStore& store, SessionFolder folder, LoopOptions options,
           Observer& observer)
    : project_(project),
      store_(store),
      options_(std::move(options)),
      session_(project, store, std::move(folder), observer),
      state_(state_of(session_.records())),
      repository_(project.directory, store.folder(), kManifestName) {
  session_.expect_steps(planned_steps(project, options_));
  repository_.remove_worktrees(worktrees());  // those of a loop that was killed
  settle_where();
  refresh();
  if (stage() == LoopStage::opening) open();
  put_in_place();
}

void Loop::append(AnyRecord record) {
  session_.append(std::move(record));
  refresh();
}

Kernel Loop::kernel_in(const Worktree& worktree, const PartKernel& wanted) const {
  Kernel kernel = kernel_of(project_, wanted.choice);
  kernel.directory = worktree.project();
  kernel.name = wanted.name;
  return kernel;
}

// Of the loop: what it began with, or what it has kept.
PartKernel Loop::kernel_at(const std::string& commit) const {
  for (const Iteration& iteration : state_.iterations) {
    if (!iteration.commit.empty() && iteration.commit == commit)
      return {.name = kernel_name(fmt::format("{:03}", iteration.number)), .choice = iteration.choice};
  }
  return {.name = kernel_name("start"), .choice = state_.start};
}

std::optional<BudgetPart> Loop::spent() const {
  const auto most = most_spent(budget(), cost(), project_.rates);
  return most && most->share >= 1 ? std::optional(most->part) : std::nullopt;
}

LoopStage Loop::stage() const { return next_stage(state_, session_.facts(), spent().has_value(), dry_); }

void Loop::advance(Proposer& proposer) {
  switch (stage()) {
    case LoopStage::opening:
      open();
      break;
    case LoopStage::starting:
      start();
      break;
    case LoopStage::diagnosing:
      diagnose();
      break;
    case LoopStage::evaluating:
      evaluate();
      break;
    case LoopStage::checking_target:
      check_target();
      break;
    case LoopStage::proposing:
      propose(proposer);
      break;
    case LoopStage::validating:
      validate_winner();
      break;
    case LoopStage::concluding:
      break;
  }
  refresh();
}

Conclusion Loop::run(Proposer& proposer) {
  try {
    while (stage() != LoopStage::concluding) advance(proposer);
  } catch (const Interrupted& how) {
    return interrupted(how);
  }
  return finish();
}

std::variant<Outcome, Conclusion> Loop::try_one(Proposer& proposer) {
  const int before = state_.done();
  try {
    while (state_.done() == before) {
      if (stage() == LoopStage::concluding) return finish();
      advance(proposer);
    }
    // What follows from the outcome belongs to it.
    while (stage() == LoopStage::checking_target || stage() == LoopStage::diagnosing) advance(proposer);
  } catch (const Interrupted& how) {
    return interrupted(how);
  }
  return *state_.last_done()->outcome;
}

}  // namespace dent
