// SPDX-License-Identifier: MIT
#include "executors/command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "executors/job_folder.h"
#include "executors/program_bundle.h"
#include "executors/project_tree.h"
#include "executors/shell_words.h"
#include "ledger/project_lock.h"
#include "project/manifest.h"
#include "records/json.h"
#include "session/exit_code.h"
#include "system/detached.h"
#include "system/durable_file.h"
#include "system/streams.h"
#include "system/temporary_folder.h"
#include "system/unpack.h"

namespace dent {
namespace {

namespace fs = std::filesystem;
constexpr double kCopySeconds = 3600, kSubmitSeconds = 600, kAskSeconds = 60;
constexpr auto kCommandPoll = std::chrono::seconds(1);
using Values = std::vector<std::pair<std::string, std::string>>;

class CommandExecutor : public Executor {
 public:
  CommandExecutor(ExecutorRules rules, const Project& project)
      : rules_(std::move(rules)), tree_(tree_of(project.directory, kManifestName)) {}

  std::string look() override { return "as the launcher says"; }

  void copy_there(SentJob& sent) override {
    if (rules_.copy.empty()) return;
    write_durably(sent.folder() / "files", tree_.list());
    if (rules_.copy.find("{program}") != std::string::npos)
      program_bundle().write(sent.folder() / "program.tar");
    require(ask({.argv = {"/bin/sh", "-e", "-c", filled_in(rules_.copy, values(sent))}}, kCopySeconds),
            "copy");
  }

  void start(SentJob& sent) override {
    if (is_locked(launcher(sent))) return;
    const auto before = ended(sent);
    const bool goes_on = before && before->exit_code == static_cast<int>(ExitCode::interrupted);
    if (before && !goes_on) return;
    fs::create_directories(launcher(sent));
    std::error_code ignored;
    fs::remove(sent.folder() / "cancelled", ignored);
    if (only_submits())
      submit(sent, goes_on);
    else
      launch(sent);
  }

  void follow(SentJob& sent, const TakeLine& take) override {
    const auto take_record = [&](std::string_view line) {
      // Launchers put their own words in front of a line: "(task, pid=7) {...}".
      if (const std::size_t at = line.find(kRecord); at != std::string_view::npos) take(line.substr(at));
    };
    if (only_submits()) return follow_submitted(sent, take_record);
    follow_ledger(launcher(sent) / "out", take_record, [&] { return !is_locked(launcher(sent)); });
  }

  JobStatus state(SentJob& sent) override {
    if (const auto status = ended(sent)) return *status;
    const bool cancelled = fs::exists(sent.folder() / "cancelled");
    if (only_submits() && sent.noted(kId).empty())
      return {.state = JobState::pending, .word = "not submitted"};
    if (!rules_.state.empty()) {
      const std::string word = state_word(sent);
      JobStatus status{.state = state_of_word(word), .word = word};
      if (cancelled && has_ended(status.state)) status.state = JobState::cancelled;
      if (has_ended(status.state)) status.exit_code = static_cast<int>(ExitCode::interrupted);
      return status;
    }
    if (is_locked(launcher(sent))) return {.state = JobState::running, .word = "launched"};
    const std::string code = trimmed(text_of(launcher(sent) / "code"));
    if (code.empty() && !fs::exists(launcher(sent)))
      return {.state = JobState::pending, .word = "not launched"};
    return {.state = cancelled ? JobState::cancelled : JobState::failed,
            .word = code.empty() ? "launcher lost" : "launcher ended with " + code,
            .exit_code =
                static_cast<int>(cancelled || code.empty() ? ExitCode::interrupted : ExitCode::environment),
            .why = trimmed(last_of(text_of(launcher(sent) / "err")))};
  }

  void cancel(SentJob& sent) override {
    write_durably(sent.folder() / "cancelled", "");
    if (!rules_.cancel.empty())
      require(ask({.argv = {"/bin/sh", "-c", filled_in(rules_.cancel, values(sent))}}, kAskSeconds),
              "cancel");
    else if (rules_.workdir.empty())
      cancel_job(sent.folder());
    else
      throw Error(ErrorCode::invalid,
                  fmt::format("executor {} does not say how to cancel a job", rules_.name),
                  "cancel = \"...\" in its table");
  }

  void bring_back(SentJob& sent, const fs::path& artifacts) override {
    if (!rules_.bring_back.empty()) {
      const TemporaryFolder brought("dent-artifacts");
      Values with = values(sent);
      with.emplace_back("artifacts", brought.path().string());
      require(ask({.argv = {"/bin/sh", "-c", filled_in(rules_.bring_back, with)}}, kCopySeconds),
              "bring_back");
      take_files(brought.path(), artifacts);
    } else if (rules_.workdir.empty() && fs::exists(sent.folder() / "artifacts")) {
      take_files(sent.folder() / "artifacts", artifacts);
    }
  }

 private:
  static constexpr const char* kId = "id";  // the launcher's own, of a job that was submitted
  static constexpr std::string_view kRecord = "{\"schema\":", kState = "{\"state\":";

  // `start` returns at once, and `follow` shows what the job has printed.
  bool only_submits() const { return !rules_.follow.empty(); }

  // The launcher lives on without us. It holds a lock, by which it is seen to live.
  void launch(const SentJob& sent) const {
    const FileDescriptor lock = open_file(launcher(sent) / "lock", O_RDWR | O_CREAT, "can't open");
    if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
    const std::string script =
        fmt::format("( {} ) >out 2>err; echo $? >code", filled_in(rules_.start, values(sent)));
    start_detached({"/bin/sh", "-c", script}, launcher(sent), "/dev/null", lock.get());
  }

  // What it says first is its own id for the job. Submitted twice, by who was killed in between, the job is
  // done once: the second finds its folder locked, or the job done.
  void submit(SentJob& sent, bool again) const {
    if (!sent.noted(kId).empty() && !again) return;
    std::error_code ignored;
    fs::remove(launcher(sent) / "out", ignored);
    const CommandAnswer answer =
        ask({.argv = {"/bin/sh", "-c", filled_in(rules_.start, values(sent))}}, kSubmitSeconds);
    require(answer, "start");
    const std::string id = trimmed(first_line(trimmed(answer.out)));
    sent.note(kId, id.empty() ? sent.job().id : id);
  }

  // `follow` may wait for more or show what there is and end. It is called until the job has ended, and shows
  // everything from the first line on each time.
  void follow_submitted(const SentJob& sent, const TakeLine& take) const {
    std::size_t taken = 0;
    for (;; std::this_thread::sleep_for(kCommandPoll)) {
      const bool over = has_ended(state_of_word(state_word(sent)));  // first: then all of it is shown below
      std::size_t shown = 0;
      std::string out;
      const CommandAnswer answer = dent::follow(
          {.argv = {"/bin/sh", "-c", filled_in(rules_.follow, values(sent))}}, [&](std::string_view line) {
            out.append(line).append("\n");
            if (line.find(kRecord) == std::string_view::npos || ++shown <= taken) return;
            take(line);
            ++taken;
          });
      if (answer.ending.clean()) write_durably(launcher(sent) / "out", out);
      if (over || out.find(kState) != std::string::npos) return;
    }
  }

  std::string state_word(const SentJob& sent) const {
    const CommandAnswer answer =
        ask({.argv = {"/bin/sh", "-c", filled_in(rules_.state, values(sent))}}, kAskSeconds);
    const std::string word = trimmed(first_line(answer.out));
    if (!answer.ending.clean() || word.empty())
      throw Unreachable(fmt::format("state {}: {}", describe(answer.ending), trimmed(answer.err)));
    return word;
  }

  static fs::path launcher(const SentJob& sent) { return sent.folder() / "launcher"; }
  static std::string last_of(const std::string& text) {
    constexpr std::size_t kMost = 1000;
    return text.size() <= kMost ? text : "..." + text.substr(text.size() - kMost);
  }

  void require(const CommandAnswer& answer, const char* what) const {
    if (answer.ending.clean()) return;
    throw Error(ErrorCode::environment,
                fmt::format("{} of executor {} {}: {}", what, rules_.name, describe(answer.ending),
                            trimmed(last_of(answer.err.empty() ? answer.out : answer.err))),
                fmt::format("correct it in {}", rules_.from));
  }

  // The job's own last line.
  std::optional<JobStatus> ended(const SentJob& sent) const {
    const std::string out = text_of(launcher(sent) / "out");
    const std::size_t at = out.rfind(kState);
    if (at == std::string::npos || is_locked(launcher(sent))) return std::nullopt;
    JobStatus status = from_json_text<JobStatus>(first_line(std::string_view(out).substr(at)));
    if (status.state == JobState::preempted && fs::exists(sent.folder() / "cancelled"))
      status.state = JobState::cancelled;
    return status;
  }

  std::string folder_there(const SentJob& sent) const {
    return rules_.workdir.empty() ? sent.folder().string() : rules_.workdir + "/jobs/" + sent.job().id;
  }

  // For a POSIX shell there. It needs the tree and dent; the job itself is in it.
  std::string command(const SentJob& sent) const {
    Job job = sent.job();
    if (!rules_.workdir.empty())
      job.project = (fs::path("../../tree") / tree_.prefix).lexically_normal().string();
    const std::string folder = dent::quoted(folder_there(sent));
    std::string line = fmt::format("mkdir -p {0} && printf %s {1} > {0}/job.json && ", folder,
                                   dent::quoted(to_json_text(job)));
    for (const auto& [key, value] : rules_.envs)
      line += fmt::format("export {}={} && ", key, dent::quoted(value));
    return line + fmt::format("exec {} job {} --records",
                              dent::quoted(rules_.dent.empty() ? "dent" : rules_.dent), folder);
  }

  Values values(const SentJob& sent) const {
    return {{"command", command(sent)},
            {"job", sent.job().id},
            {"id", sent.noted(kId)},
            {"tree", tree_.root.string()},
            {"files", (sent.folder() / "files").string()},
            {"program", (sent.folder() / "program.tar").string()},
            {"workdir", rules_.workdir},
            {"accelerators", rules_.accelerators}};
  }

  ExecutorRules rules_;
  ProjectTree tree_;
};

}  // namespace

std::unique_ptr<Executor> command_executor(const ExecutorRules& rules, const Project& project) {
  return std::make_unique<CommandExecutor>(rules, project);
}

std::string filled_in(const std::string& text, const Values& values) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = text.find('{', at), close = text.find('}', open);
    const bool is_name = close != std::string::npos && close > open + 1 &&
                         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(open) + 1,
                                     text.begin() + static_cast<std::ptrdiff_t>(close),
                                     [](unsigned char c) { return std::islower(c) != 0 || c == '_'; });
    if (!is_name) {  // braces of the shell's
      const std::size_t end = open == std::string::npos ? text.size() : open + 1;
      result += text.substr(at, end - at);
      at = end;
      continue;
    }
    const std::string name = text.substr(open + 1, close - open - 1);
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.first == name; });
    if (found == values.end()) {
      std::string known;
      for (const auto& [each, value] : values) known += (known.empty() ? "{" : ", {") + each + "}";
      throw Error(ErrorCode::invalid, fmt::format("{{{}}} in \"{}\"; there are {}", name, text, known));
    }
    result += text.substr(at, open - at) + dent::quoted(found->second);
    at = close + 1;
  }
  return result;
}

JobState state_of_word(const std::string& word) {
  std::string lower;
  for (const char c : word) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const struct {
    const char* part;
    JobState state;
  } known[] = {
      {"preempt", JobState::preempted}, {"cancel", JobState::cancelled}, {"stopped", JobState::cancelled},
      {"timeout", JobState::timeout},   {"deadline", JobState::timeout}, {"fail", JobState::failed},
      {"error", JobState::failed},      {"succe", JobState::succeeded},  {"complete", JobState::succeeded},
      {"done", JobState::succeeded},    {"running", JobState::running},  {"recovering", JobState::running}};
  for (const auto& [part, state] : known) {
    if (lower.find(part) != std::string::npos) return state;
  }
  return JobState::pending;
}

}  // namespace dent
