// SPDX-License-Identifier: MIT
#include "loop/proposers/command_proposer.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "records/json_text.h"
#include "system/durable_file.h"
#include "base/text.h"
#include "system/process.h"
#include "workers/resources.h"
#include "system/strays.h"
#include "base/stopwatch.h"

namespace dent {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

const std::string kNoMoreIdeas = "no more ideas";

std::size_t size_of(const fs::path& file) {
  std::error_code none;
  const auto size = fs::file_size(file, none);
  return none ? 0 : size;
}

// The whole text, or else its last line that is a JSON object: agents think aloud.
json object_in(const std::string& text) {
  json whole = parse_json(text);
  if (whole.is_object()) return whole;
  json last;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.find('{') == std::string::npos) continue;
    if (json object = parse_json(line); object.is_object()) last = std::move(object);
  }
  return last;
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

std::string text_in(const json& answer, const char* key) {
  const auto found = answer.find(key);
  if (found == answer.end()) return {};
  return found->is_string() ? found->get<std::string>() : found->is_number() ? found->dump() : std::string();
}

double amount_in(const json& answer, const char* key) {
  const auto found = answer.find(key);
  return found != answer.end() && found->is_number() ? std::max(0.0, found->get<double>()) : 0.0;
}

Proposal refused(std::string why) {
  Proposal proposal;
  proposal.hypothesis.change = "none";
  proposal.refusal = std::move(why);
  return proposal;
}

std::string first_of(const std::vector<std::string>& list) {
  return list.size() == 1 ? list.front() : fmt::format("{} and {} more", list.front(), list.size() - 1);
}

}  // namespace

std::vector<fs::path> files_of_dent() {
  const Resources own = find_resources();
  return {fs::read_symlink("/proc/self/exe"), own.native_worker, own.oracle, own.python_worker, own.include};
}

Proposal proposal_from_answer(const json& answer) {
  Proposal proposal;
  const auto inner = answer.find("hypothesis");
  const json& says = inner != answer.end() && inner->is_object() ? *inner : answer;
  proposal.hypothesis = {text_in(says, "bottleneck"), text_in(says, "change"), text_in(says, "expected")};
  proposal.pattern = text_in(answer, "pattern");
  if (answer.contains("phase")) {
    for (const Phase phase : kPhases) {
      if (dent::name(phase) == text_in(answer, "phase")) proposal.phase = phase;
    }
  }
  if (answer.contains("tunable"))
    proposal.assignment = Assignment{text_in(answer, "tunable"), text_in(answer, "value")};
  if (answer.contains("variant")) proposal.variant = text_in(answer, "variant");
  if (const auto files = answer.find("files");
      files != answer.end() && files->is_array() && !files->empty()) {
    proposal.source.emplace();
    for (const json& file : *files) {
      if (!file.is_string()) return refused("files must be a list of paths; it holds " + file.dump());
      proposal.source->files.push_back(file.get<std::string>());
    }
  }
  if (const std::string patch = text_in(answer, "patch"); !patch.empty()) {
    if (!proposal.source) proposal.source.emplace();
    proposal.source->patch = patch;
  }
  proposal.spend.usd = amount_in(answer, "usd");
  proposal.spend.input_tokens = static_cast<long long>(amount_in(answer, "input_tokens"));
  proposal.spend.output_tokens = static_cast<long long>(amount_in(answer, "output_tokens"));
  return proposal;
}

struct CommandProposer::Ran {
  std::string trouble;  // "" when it ended by itself, with status 0
  json answer;
  double seconds = 0;
};

CommandProposer::CommandProposer(std::string command, CommandLimits limits, fs::path scratch,
                                 std::vector<fs::path> own)
    : command_(std::move(command)), limits_(limits), scratch_(std::move(scratch)), own_(std::move(own)) {
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
    protected_.protect(brief.project->directory, [worktree, scratch = scratch_](const fs::path& path) {
      return path == worktree || path == scratch || path.filename() == "__pycache__";
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
  write_durably(asked, to_json(brief).dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  const double seconds = std::min(limits_.seconds, brief.left.seconds.value_or(limits_.seconds));

  const auto start = Clock::now();
  Ran ran;
  Process process({.argv = {"/bin/sh", "-c", "exec <\"$DENT_BRIEF\" >\"$0\"; " + command_, out.string()},
                   .environment = {{"DENT_BRIEF", asked.string()}, {"DENT_ANSWER", answered.string()}},
                   .directory = brief.worktree,
                   .log = log});
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
  ran.answer = object_in(answer_file.empty() ? text_of(out) : answer_file);
  if (!ending->clean()) {
    ran.trouble = describe(*ending);
  } else if (size_of(out) + size_of(log) > limits_.output_bytes) {
    ran.trouble = fmt::format("it had printed more than {} bytes", limits_.output_bytes);
  } else if (!ran.answer.is_object()) {
    ran.trouble = "its answer is no JSON object: " + text_of(out).substr(0, 200);
  }
  if (!ran.trouble.empty()) {
    if (const std::string words = process.last_words(500); !words.empty())
      ran.trouble += "; it said: " + words;
  }
  return ran;
}

std::optional<Proposal> CommandProposer::propose(const Brief& brief) {
  int in_a_row = 0;
  for (const PastIteration& past : brief.history) {
    if (past.proposal.proposer != name()) continue;
    if (past.proposal.refusal.rfind(kNoMoreIdeas, 0) == 0) return std::nullopt;
    in_a_row = past.outcome.stage == "refused" ? in_a_row + 1 : 0;
  }
  if (in_a_row >= limits_.refused_in_a_row) return std::nullopt;

  protect(brief);
  protected_.remember();
  const Ran ran = run(brief);
  const bool answered = ran.answer.is_object();
  Proposal proposal = answered ? proposal_from_answer(ran.answer) : Proposal();
  if (!ran.trouble.empty()) {
    proposal.refusal = "the command " + ran.trouble;
  } else if (ran.answer.value("done", json(false)) == true) {
    // On record like any answer: it was asked, and what that took is booked.
    proposal.refusal =
        kNoMoreIdeas + (text_in(ran.answer, "reason").empty() ? "" : ": " + text_in(ran.answer, "reason"));
  }
  if (const auto touched = protected_.touched(); !touched.empty()) {
    proposal.refusal = "the command touched what it may not: " + first_of(touched);
  }
  if (!proposal.refusal.empty() && proposal.hypothesis.change.empty()) proposal.hypothesis.change = "none";
  proposal.proposer = name();
  proposal.spend.seconds = ran.seconds;
  if (!answered || !ran.answer.contains("phase")) proposal.phase = brief.phase;
  return proposal;
}

}  // namespace dent
