// SPDX-License-Identifier: MIT
#include "mcp/call.h"

#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "ledger/ledger.h"
#include "ledger/project_lock.h"
#include "ledger/session_store.h"
#include "mcp/schema.h"
#include "mcp/shorten.h"
#include "project/untrusted.h"
#include "records/json.h"
#include "session/event_stream.h"
#include "system/durable_file.h"
#include "system/process.h"

namespace dent::mcp {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr auto kCallPoll = std::chrono::milliseconds(20);  // at the process, for its end
constexpr double kGoodbye = 5;                             // seconds for a call to end by itself
constexpr auto kBeat = std::chrono::milliseconds(1000);    // a sign of life

json text_result(const std::string& text, bool is_error) {
  return {{"content", json::array({{{"type", "text"}, {"text", text}}})}, {"isError", is_error}};
}

// Follows the session's events.
class Progress {
 public:
  Progress(fs::path events, const Report& report) : events_(std::move(events)), report_(report) {}

  void look() {
    std::ifstream stream(events_);
    stream.seekg(read_);
    for (std::string line; std::getline(stream, line) && !stream.eof();) {
      read_ = stream.tellg();
      take(from_json_text<Event>(line));
    }
    const auto now = Clock::now();
    if (now - told_ < kBeat) return;
    const double within = 1 - 1 / (1 + seconds(now - stepped_) / 10);  // grows, and never reaches 1
    tell(done_ + within, fmt::format("{} {:.0f} s so far", doing_, seconds(now - began_)));
  }

 private:
  static double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

  void take(const Event& event) {
    if (event.event == EventKind::note || event.event == EventKind::plan || event.event == EventKind::running)
      return;
    of_ = static_cast<double>(event.of);
    doing_ = event.step + (event.text.empty() ? "" : ": " + event.text);
    if (event.event == EventKind::progress) return;
    stepped_ = Clock::now();
    const auto number = static_cast<double>(event.number);
    tell(event.event == EventKind::end ? number : number - 1, doing_);
  }

  void tell(double done, const std::string& doing) {
    if (done <= last_) return;  // may only grow
    last_ = done;
    done_ = std::floor(done);
    told_ = Clock::now();
    report_(done, of_, doing);
  }

  fs::path events_;
  const Report& report_;
  std::streamoff read_ = 0;
  double done_ = 0, of_ = 0, last_ = 0;
  std::string doing_;
  Clock::time_point began_ = Clock::now(), stepped_ = began_, told_ = began_;
};

std::string newest_session(const fs::path& project) {
  const auto sessions = SessionStore(project).list();
  return sessions.empty() ? "" : sessions.back().id;
}

}  // namespace

Call::Call(const Tool& tool, json arguments, fs::path program, const Seen& seen, std::mutex& machine)
    : tool_(tool),
      arguments_(std::move(arguments)),
      program_(std::move(program)),
      seen_(seen),
      scratch_("dent-mcp"),
      machine_(machine) {}

void Call::cancel(const std::string& reason) {
  reason_ = reason;
  cancelled_ = true;
}

// Throws Error when it lies elsewhere: an agent gets the folder that it was given, not the disk.
fs::path Call::project() const {
  const fs::path chosen = fs::weakly_canonical(seen_.root() / arguments_.value("project", "."));
  const fs::path relative = chosen.lexically_relative(seen_.root());
  if (relative.empty() || *relative.begin() == "..") {
    throw Error(ErrorCode::invalid, "project " + chosen.string() + " is not in " + seen_.root().string(),
                "name a folder in it, or start the server for another: dent mcp -p FOLDER");
  }
  return chosen;
}

json Call::run(const Report& report) {
  try {
    if (const std::string wrong = breach(arguments_, tool_.input()); !wrong.empty())
      return text_result(wrong, true);
    json result = work(report);
    return cancelled_ ? json() : result;
  } catch (const std::exception& problem) {
    return cancelled_ ? json() : text_result(problem.what(), true);
  }
}

json Call::work(const Report& report) {
  const fs::path home = project();
  std::unique_lock machine(machine_, std::defer_lock);
  for (auto told = Clock::now(); tool_.measures && !machine.try_lock();) {
    if (cancelled_) return {};
    std::this_thread::sleep_for(kCallPoll);
    if (Clock::now() - told < 5 * kBeat) continue;
    report(0, 0, "waiting for the call before this one: the machine is measured by one at a time");
    told = Clock::now();
  }
  if (cancelled_) return {};
  newest_before_ = newest_session(home);

  const fs::path out = scratch_.path() / "stdout", events = scratch_.path() / "events";
  const fs::path manifest = scratch_.path() / "seen.toml";
  std::ofstream(manifest) << seen_.manifest_of(home);
  Command command{.environment = untrusted_environment(seen_.root(), {}, manifest),
                  .log = scratch_.path() / "stderr"};
  command.argv = {"/bin/sh",
                  "-c",
                  "out=$1; events=$2; shift 2; exec \"$@\" >\"$out\" 3>\"$events\"",
                  "sh",
                  out.string(),
                  events.string(),
                  program_.string()};
  for (std::string& word : command_line(tool_, arguments_, scratch_.path()))
    command.argv.push_back(std::move(word));
  command.argv.insert(command.argv.end(), {"--json", "-p", home.string()});
  if (tool_.measures) command.argv.insert(command.argv.end(), {"--events", "3"});

  Process process(command);
  Progress progress(events, report);
  std::optional<Ending> ending;
  while (!(ending = process.poll())) {
    if (cancelled_) {
      ::kill(process.id(), SIGTERM);  // an evaluation removes its worktrees first
      process.wait(kGoodbye);
      note_cancelled();
      return {};
    }
    progress.look();
    std::this_thread::sleep_for(kCallPoll);
  }
  progress.look();

  const json document = parse_json(text_of(out));
  if (!document.is_object()) {
    const std::string said = process.last_words();
    return text_result(
        fmt::format("dent {}: {}{}", tool_.name, describe(*ending), said.empty() ? "" : "\n" + said), true);
  }
  if (document.contains("error")) return text_result(document["error"].get<std::string>(), true);

  fs::path full = fs::path(document.value("folder", "")) / "report.json";
  if (!document.contains("folder")) {
    SessionStore store(home);
    full = store.prepare() / "mcp";
    fs::create_directories(full);
    full /= tool_.name + ".json";
    write_durably(full, document.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  }
  json structured = answer(tool_, document, full);
  shorten(structured);
  json result = text_result(structured.dump(-1, ' ', false, json::error_handler_t::replace), false);
  result["structuredContent"] = std::move(structured);
  return result;
}

// The process is dead: its session ends here, and says why.
void Call::note_cancelled() const {
  if (!tool_.has_session) return;
  try {
    const fs::path home = project();
    SessionStore store(home);
    if (newest_session(home) == newest_before_) return;  // it had not begun one
    const ProjectLock lock(store.prepare());
    Ledger ledger(store.find("latest").ledger());
    ledger.append(record::Note{"cancelled by the MCP client" + (reason_.empty() ? "" : ": " + reason_)});
  } catch (const std::exception&) {  // nothing was recorded; the session is one that was interrupted
  }
}

}  // namespace dent::mcp
