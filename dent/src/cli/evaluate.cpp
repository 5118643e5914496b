// SPDX-License-Identifier: MIT
// dent evaluate: one change of yours through the loop's gates, against the best so far. Several in a row are
// one session.
#include <fmt/format.h>

#include <cstdio>
#include <sstream>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/on.h"
#include "cli/terminal.h"
#include "executors/left_running.h"
#include "ledger/facts.h"
#include "ledger/ledger.h"
#include "ledger/project_lock.h"
#include "loop/loop.h"
#include "loop/proposers/answer.h"
#include "project/choice.h"
#include "project/manifest.h"
#include "records/json.h"
#include "report/write_reports.h"
#include "session/supervise.h"

namespace dent::cli {
namespace {

constexpr const char* kEvaluate = "evaluate";  // as the session record has it

struct EvaluateArguments {
  Common common;
  std::string proposal, session, executor;
};

std::string content_of(const std::string& file) {
  auto text = read_text(file);
  if (!text) throw Error(ErrorCode::invalid, "can't read " + file);
  return *std::move(text);
}

// The files that a patch names as changed, so that whoever wrote it need not list them again.
std::vector<std::string> files_in(const std::string& patch) {
  std::vector<std::string> files;
  std::istringstream lines(patch);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string_view mark : {"+++ b/", "--- a/"}) {
      if (line.rfind(mark, 0) != 0) continue;
      std::string file = line.substr(mark.size());
      file.erase(std::min(file.find('\t'), file.size()));
      if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(std::move(file));
    }
  }
  return files;
}

Proposal read_proposal(const std::string& file) {
  const auto answer = find_answer(content_of(file));
  if (!answer) throw Error(ErrorCode::invalid, file + " is no JSON object");
  Proposal proposal = proposal_of(*answer);
  if (proposal.source && proposal.source->files.empty())
    proposal.source->files = files_in(proposal.source->patch);
  proposal.proposer = "evaluate";
  return proposal;
}

// The one that is asked for, in the place of a proposer.
class Given : public Proposer {
 public:
  explicit Given(Proposal proposal) : proposal_(std::move(proposal)) {}
  std::string_view name() const override { return "evaluate"; }
  std::optional<Proposal> propose(const Brief& brief) override {
    proposal_.phase = brief.phase;
    return proposal_;
  }

 private:
  Proposal proposal_;
};

// A change that was dropped for a cause ends with its code.
ExitCode exit_code_of(const Outcome& outcome) {
  if (outcome.kept) return exit_code(Verdict::kept);
  if (outcome.stage == TrialStage::refused) return exit_code(Verdict::refused);
  return outcome.cause ? exit_code(verdict_of(*outcome.cause)) : exit_code(Verdict::dropped);
}

ExitCode evaluate(const EvaluateArguments& arguments) {
  Project project = read_project(arguments.common.project);
  take_price(project, arguments.executor);
  Given given(read_proposal(arguments.proposal));
  run_supervised("dent evaluate --session latest ...", [&] { remove_worktrees(project.directory); });
  SessionStore store(project.directory);
  const ProjectLock lock(store.prepare());
  refuse_beside_left_jobs(store.folder());
  const SessionFolder folder = arguments.session.empty()
                                   ? store.create()
                                   : session_to_resume(store, project, arguments.session, kEvaluate);
  if (!arguments.session.empty())
    take_price(project, state_of(read_ledger(folder.ledger()).records).executor);
  Audience audience(arguments.common);
  Loop loop(project, store, folder, {.executor = arguments.executor, .command = kEvaluate}, audience);
  const auto tried = loop.try_one(given);
  JsonObject document{
      {"session", folder.id}, {"folder", folder.folder.string()}, {"branch", loop.state().branch}};
  Verdict verdict = Verdict::kept;
  ExitCode code = ExitCode::ok;
  std::string text;
  if (const auto* end = std::get_if<Conclusion>(&tried)) {
    document.add({{"reason", end->reason}, {"next", end->next}, {"kept", false}});
    verdict = end->verdict;
    code = end->code;
    text = fmt::format("{}: {}\n", name(end->verdict), end->reason);
  } else {
    const auto& outcome = std::get<Outcome>(tried);
    document.add(JsonObject(outcome))
        .add("speedup", loop.state().speedup())
        .add("commit", loop.state().incumbent_commit())
        .add("choice", loop.state().incumbent());
    verdict = outcome.kept ? Verdict::kept : Verdict::dropped;
    code = exit_code_of(outcome);
    text =
        fmt::format("{}\nto go on from here: dent evaluate --session {} ...\n", in_words(outcome), folder.id);
  }
  document.add("verdict", name(verdict));
  write_reports(store, folder);  // of where the session stands
  document.add("exit_code", static_cast<int>(code));
  if (arguments.common.json)
    print_json("evaluate", document);
  else
    std::fputs(text.c_str(), stdout);
  return code;
}

}  // namespace

void add_evaluate(Command& dent) {
  auto arguments = std::make_shared<EvaluateArguments>();
  Command& command = dent.command(
      "evaluate",
      "Try one change in a worktree, and keep it as a commit on the session's branch if it is proved faster");
  add_common(command, arguments->common);
  add_events(command, arguments->common);
  command
      .option("--proposal", arguments->proposal,
              "JSON: hypothesis (bottleneck, change, expected), and patch, variant, or tunable and value")
      .required();
  command.option("--session", arguments->session, "Go on from what this session has kept");
  add_executor(command, arguments->executor);
  command.examples(
      "  dent evaluate --proposal change.json\n  dent evaluate --proposal next.json --session latest");
  command.run([arguments] { return evaluate(*arguments); });
}

}  // namespace dent::cli
