// SPDX-License-Identifier: MIT
#include "loop/proposers/command_proposer.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/stopwatch.h"
#include "base/text.h"
#include "build/surroundings.h"
#include "loop/proposers/answer.h"
#include "system/durable_file.h"
#include "system/process.h"
#include "system/strays.h"
#include "workers/interpreter.h"
#include "workers/resources.h"

namespace dent {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

std::size_t size_of(const fs::path& file) {
  std::error_code none;
  const auto size = fs::file_size(file, none);
  return none ? 0 : size;
}

fs::path top_of_worktree(const fs::path& inside) {
  for (fs::path folder = inside;; folder = folder.parent_path()) {
    std::error_code ignored;
    if (fs::exists(folder / ".git", ignored)) return folder;
    if (folder == folder.parent_path()) return inside;
  }
}

// The user's repository, found from the worktree's file ".git": "gitdir: /path/.git/worktrees/name".
fs::path repository_of(const fs::path& worktree) {
  const std::string text = text_of(worktree / ".git");
  const auto at = text.find("/worktrees/");
  constexpr std::string_view kPrefix = "gitdir: ";
  return text.rfind(kPrefix, 0) == 0 && at != std::string::npos
             ? fs::path(text.substr(kPrefix.size(), at - kPrefix.size()))
             : fs::path();
}

std::string first_of(const std::vector<std::string>& list) {
  return list.size() == 1 ? list.front() : fmt::format("{} and {} more", list.front(), list.size() - 1);
}

}  // namespace

std::vector<fs::path> files_of_dent(const Resources& own) {
  // The whole folder of the Python worker: it imports what lies beside it.
  return {fs::read_symlink("/proc/self/exe"), own.native_worker, own.oracle, own.python_worker.parent_path(),
          own.include};
}

CommandCell command_cell(const Project& project) {
  const OptimizeRules& rules = project.optimize;
  CommandCell around{Cell(rules.command_sandbox.value_or(project.sandbox)), {}};
  if (!around.cell.stands()) return around;
  around.view = surroundings_of(project);
  const Interpreter python = ask_interpreter(find_python(project.directory, project.python));
  around.view.visible.insert(around.view.visible.end(), python.needs.begin(), python.needs.end());
  for (const std::string& path : rules.command_paths)
    around.view.writable.push_back((project.directory / path).lexically_normal());
  around.view.variables = rules.command_env;
  around.view.network = rules.command_network;
  return around;
}

struct CommandProposer::Ran {
  std::string trouble;  // "" when it ended by itself, with status 0
  std::optional<Answer> answer;
  double seconds = 0;
};

CommandProposer::CommandProposer(std::string command, CommandLimits limits, fs::path scratch,
                                 std::vector<fs::path> own, CommandCell around)
    : command_(std::move(command)),
      limits_(limits),
      scratch_(std::move(scratch)),
      own_(std::move(own)),
      around_(std::move(around)) {
  fs::create_directories(scratch_);
  adopt_orphans();
}

// Everything but the allowed files of the worktree: the rest of it, the user's project with its records, the
// repository's branches, and dent itself.
void CommandProposer::protect(const Brief& brief) {
  if (protected_for_ == brief.worktree) return;
  protected_for_ = brief.worktree;
  protected_ = {};
  const fs::path worktree = top_of_worktree(brief.worktree);
  protected_.protect(worktree, [home = brief.worktree, allowed = brief.allowed_files,
                                forbidden = brief.protected_files](const fs::path& path) {
    const std::string relative = path.lexically_relative(home).string();
    const auto fits = [&](const std::string& pattern) {
      return fnmatch(pattern.c_str(), relative.c_str(), 0) == 0;
    };
    return std::any_of(allowed.begin(), allowed.end(), fits) &&
           std::none_of(forbidden.begin(), forbidden.end(), fits);
  });
  if (brief.project != nullptr) {
    // Jobs that run meanwhile write into folders of their own.
    const fs::path jobs = scratch_.parent_path() / "jobs";
    protected_.protect(brief.project->directory, [worktree, scratch = scratch_, jobs](const fs::path& path) {
      return path == worktree || path == scratch || path == jobs || path.filename() == "__pycache__";
    });
  }
  if (const fs::path repository = repository_of(worktree); !repository.empty()) {
    for (const char* part : {"HEAD", "config", "hooks", "packed-refs", "refs"})
      protected_.protect(repository / part);
  }
  for (const fs::path& place : own_) protected_.protect(place);
}

CommandProposer::Ran CommandProposer::run(const Brief& brief) {
  const fs::path asked = scratch_ / "brief.json", out = scratch_ / "stdout", log = scratch_ / "stderr",
                 answered = scratch_ / "answer.json";
  for (const fs::path& file : {out, log, answered}) fs::remove(file);
  write_durably(asked, brief_document(brief));
  const double seconds = std::min(limits_.seconds, brief.left.seconds.value_or(limits_.seconds));

  const auto start = Clock::now();
  Ran ran;
  Command command{.argv = {"/bin/sh", "-c", "exec <\"$DENT_BRIEF\" >\"$0\"; " + command_, out.string()},
                  .environment = {{"DENT_BRIEF", asked.string()}, {"DENT_ANSWER", answered.string()}},
                  .directory = brief.worktree,
                  .log = log};
  CellView view = around_.view;
  const fs::path worktree = top_of_worktree(brief.worktree);
  view.writable.insert(view.writable.end(), {worktree, scratch_});
  view.visible.push_back(worktree / ".git");
  around_.cell.enclose(command, view);
  Process process(command);
  std::optional<Ending> ending;
  while (!(ending = process.poll())) {
    ran.seconds = seconds_since(start);
    if (ran.seconds > seconds) {
      process.kill(Ending::Kind::timed_out);
      ran.trouble = fmt::format("stopped at its time limit of {:.0f} s", seconds);
      break;
    }
    if (size_of(out) + size_of(log) + size_of(answered) > limits_.output_bytes) {
      process.kill(Ending::Kind::signalled);
      ran.trouble = fmt::format("stopped: it had printed more than {} bytes", limits_.output_bytes);
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  kill_strays();  // what it has left running outside of its group
  ran.seconds = seconds_since(start);
  if (!ran.trouble.empty()) return ran;
  const std::string answer_file = text_of(answered);
  ran.answer = find_answer(answer_file.empty() ? text_of(out) : answer_file);
  if (!ending->clean()) {
    ran.trouble = describe(*ending);
  } else if (size_of(out) + size_of(log) > limits_.output_bytes) {
    ran.trouble = fmt::format("it had printed more than {} bytes", limits_.output_bytes);
  } else if (!ran.answer) {
    ran.trouble = "its answer is no JSON object: " + text_of(out).substr(0, 200);
  }
  if (!ran.trouble.empty()) {
    if (const std::string words = process.last_words(500); !words.empty())
      ran.trouble += "; it said: " + words;
    if (around_.cell.stands())
      ran.trouble += " (it ran in a cell: dent/docs/proposers.md says how to widen it)";
  }
  return ran;
}

std::optional<Proposal> CommandProposer::propose(const Brief& brief) {
  int in_a_row = 0;
  for (const PastIteration& past : brief.history) {
    if (past.proposal.proposer != name()) continue;
    if (past.proposal.done) return std::nullopt;
    in_a_row = past.outcome.stage == TrialStage::refused ? in_a_row + 1 : 0;
  }
  for (const PastIteration& tried : brief.pending)
    if (tried.proposal.proposer == name() && tried.proposal.done) return std::nullopt;
  if (in_a_row >= limits_.refused_in_a_row) return std::nullopt;

  protect(brief);
  protected_.remember();
  const Ran ran = run(brief);
  Proposal proposal = ran.answer ? proposal_of(*ran.answer) : Proposal();
  if (!ran.trouble.empty()) {
    proposal.refusal = "the command " + ran.trouble;
    proposal.done = false;
  } else if (proposal.done) {
    // On record like any answer: it was asked, and what that took is booked.
    proposal.refusal = "no more ideas" + (ran.answer->reason.empty() ? "" : ": " + ran.answer->reason);
  }
  if (const auto touched = protected_.touched(); !touched.empty()) {
    proposal.refusal = "the command touched what it may not: " + first_of(touched);
    proposal.done = false;
  }
  if (!proposal.refusal.empty() && proposal.hypothesis.change.empty()) proposal.hypothesis.change = "none";
  proposal.proposer = name();
  proposal.spend.seconds = ran.seconds;
  if (!ran.answer || !parse_word<Phase>(ran.answer->phase)) proposal.phase = brief.phase;
  return proposal;
}

}  // namespace dent
