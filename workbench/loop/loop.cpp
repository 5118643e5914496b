// SPDX-License-Identifier: MIT
#include "loop/loop.h"

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

Loop::Loop(const Project& project, SessionStore& store, SessionFolder folder, LoopOptions options,
           Observer& observer)
    : project_(project),
      store_(store),
      options_(std::move(options)),
      session_(project, store, std::move(folder), observer),
      state_(state_of(session_.records())),
      builder_(project, store.folder(), find_resources().include),
      workers_(project, find_resources(), builder_),
      oracle_(workers_, session_.folder().artifacts()),
      against_baseline_(workers_, oracle_, project.kernel, session_.folder().artifacts()),
      repository_(project.directory, store.folder(), kManifestName) {
  session_.expect_steps(planned_steps(project, options_));
  repository_.remove_worktrees(worktrees());  // those of a loop that was killed
  session_.open({.command = options_.command}, against_baseline_);
  refresh();
  if (stage() == LoopStage::opening) open();
  put_in_place();
}

void Loop::append(AnyRecord record) {
  session_.append(std::move(record));
  refresh();
}

Kernel Loop::kernel_in(const Worktree& worktree, const Choice& choice, const std::string& tag) const {
  Kernel kernel = kernel_of(project_, choice);
  kernel.directory = worktree.project();
  kernel.name = session_.folder().id + "-" + tag;
  return kernel;
}

std::optional<BudgetPart> Loop::spent() const {
  const auto most = most_spent(budget(), cost(), project_.rates);
  return most && most->share >= 1 ? std::optional(most->part) : std::nullopt;
}

LoopStage Loop::stage() const { return next_stage(state_, session_.facts(), spent().has_value()); }

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
  while (stage() != LoopStage::concluding) advance(proposer);
  return finish();
}

std::variant<Outcome, Conclusion> Loop::try_one(Proposer& proposer) {
  const int before = state_.done();
  while (state_.done() == before) {
    if (stage() == LoopStage::concluding) return finish();
    advance(proposer);
  }
  // What follows from the outcome belongs to it.
  while (stage() == LoopStage::checking_target || stage() == LoopStage::diagnosing) advance(proposer);
  return *state_.iterations.back().outcome;
}

}  // namespace dent
