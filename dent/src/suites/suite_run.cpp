// SPDX-License-Identifier: MIT
#include "suites/suite_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <list>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "ledger/session_store.h"
#include "project/manifest.h"
#include "project/untrusted.h"
#include "report/session_view.h"
#include "session/event_stream.h"
#include "session/exit_code.h"
#include "session/plan.h"
#include "session/session.h"
#include "suites/schedule.h"
#include "system/line_file.h"
#include "system/process.h"
#include "system/processor_use.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

constexpr auto kLookEvery = std::chrono::milliseconds(100);
constexpr const char* kThreads = "OMP_NUM_THREADS";  // PyTorch, MKL and OpenBLAS keep to it

// The last session of a project that began with this suite or later; nothing where there is none.
std::optional<SessionFolder> session_since(const fs::path& project, const std::string& id) {
  const auto sessions = SessionStore(project).list();
  if (sessions.empty() || sessions.back().id < id) return std::nullopt;
  return sessions.back();
}

// Whether a killed suite has left one that can go on.
std::optional<std::string> to_go_on_with(const Project& project, const std::string& suite) {
  const auto last = session_since(project.directory, suite);
  if (!last || !fs::exists(last->ledger())) return std::nullopt;
  try {
    if (load_session(*last).end) return std::nullopt;
    return session_to_resume(SessionStore(project.directory), project, last->id, "run").id;
  } catch (const Error&) {  // it can't: a new one then
    return std::nullopt;
  }
}

// The geometric mean of all shapes, or of those that were measured before the session stopped.
std::optional<Ratio> ratio_of(const SessionView& view) {
  if (view.mean()) return view.mean();
  std::vector<Ratio> ratios;
  std::vector<double> weights;
  for (const record::Comparison& shape : view.comparisons) {
    if (!shape.ratio) continue;
    ratios.push_back(*shape.ratio);
    weights.push_back(shape.weight);
  }
  if (ratios.empty()) return std::nullopt;
  return geometric_mean(ratios, weights);
}

// What a dent said that ended without a verdict: its error, without its place and its remedy.
std::string complaint(const std::string& said) {
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("error: ")) return line.substr(7);
  }
  return first_line(said);
}

class Child {
 public:
  Child(const Suite& suite, const SuiteRunRules& rules, const Placed& placed, const Project& project)
      : placed_(placed),
        folder_(project.directory),
        newest_before_(newest()),
        goes_on_(to_go_on_with(project, suite.id())),
        process_(command(suite, rules)) {}

  std::size_t project() const { return placed_.project; }

  std::optional<Ending> look() {
    for (const std::string& line : events_.fresh()) {
      const auto event = from_json_text<Event>(line);
      if (event.event == EventKind::begin)
        doing_ = fmt::format("{} ({} of {})", event.step, event.number, event.of);
    }
    return process_.poll();
  }

  Running running(const std::string& what) const {
    return {.what = what,
            .executor = placed_.gpu.empty() ? "" : "GPU " + placed_.gpu,
            .where = {},
            .doing = doing_,
            .seconds = seconds_since(began_)};
  }

  SuiteRow row(const std::string& project, const Ending& ending) const {
    const bool exited = ending.kind == Ending::Kind::exited;
    SuiteRow row{.project = project, .exit_code = exited ? ending.code : -1};
    row.seconds = seconds_since(began_);
    // Of one that was killed, what it had said before is no reason.
    const std::string said = exited ? complaint(process_.last_words()) : "";
    const std::string died = said.empty() ? fmt::format("its dent {}", describe(ending)) : said;
    const std::string session = goes_on_.value_or(newest());
    if (!goes_on_ && session == newest_before_) {
      row.reason = died;
      return row;
    }
    try {
      const SessionView view = load_session(SessionStore(folder_).find(session));
      row.verdict = view.verdict;
      row.reason = view.end ? view.reason : died;
      row.session = view.id;
      row.device = view.device();
      row.ratio = ratio_of(view);
      row.busy = view.summary && view.summary->busy;
    } catch (const std::exception& problem) {
      row.reason = in_one_line(problem);
    }
    return row;
  }

 private:
  std::string newest() const {
    const auto sessions = SessionStore(folder_).list();
    return sessions.empty() ? "" : sessions.back().id;
  }

  Command command(const Suite& suite, const SuiteRunRules& rules) const {
    Command command{.log = suite.log(placed_.project)};
    command.argv = {rules.program.string(), goes_on_ ? "resume" : "run"};
    if (goes_on_) {
      command.argv.push_back(*goes_on_);
    } else {
      for (const std::string& gate : suite.plan().with)
        command.argv.insert(command.argv.end(), {"--with", gate});
      for (const std::string& gate : suite.plan().without)
        command.argv.insert(command.argv.end(), {"--without", gate});
    }
    command.argv.insert(command.argv.end(), {"-p", folder_.string(), "--quiet", "--events", "3"});
    if (!rules.trusted) command.environment = untrusted_environment(suite.folder(), rules.visible);
    if (!placed_.gpu.empty()) command.environment.emplace_back("CUDA_VISIBLE_DEVICES", placed_.gpu);
    const int neighbours = rules.per_gpu * std::max(1, static_cast<int>(rules.gpus.size()));
    if (neighbours > 1 && std::getenv(kThreads) == nullptr) {
      const int processors = processor_use({}).processors;
      command.environment.emplace_back(kThreads, std::to_string(threads_of_each(processors, neighbours)));
    }
    command.pass = {events_.descriptor()};
    return command;
  }

  Placed placed_;
  fs::path folder_;
  std::string newest_before_;
  std::optional<std::string> goes_on_;
  LineFile events_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::string doing_ = "begins";
  Process process_;  // the last: it is killed before the rest goes
};

// Everything that is known before anything runs.
class Entry {
 public:
  Entry(const Suite& suite, const SuiteRunRules& rules, std::size_t number) {
    try {
      const fs::path folder = suite.folder() / suite.plan().projects[number];
      project_ = rules.trusted
                     ? read_project(folder)
                     : read_untrusted_project(folder, {.root = suite.folder(), .folders = rules.visible});
      for (const Step& step :
           make_plan(*project_, {gates_of_run(suite.plan().with, suite.plan().without), {}, {}}))
        seconds_ += step.time_box_s;
    } catch (const Error& problem) {
      refused_ = SuiteRow{.project = suite.plan().projects[number],
                          .reason = problem.in_one_line(),
                          .exit_code = static_cast<int>(exit_code(problem.code()))};
    }
  }
  const std::optional<SuiteRow>& refused() const { return refused_; }
  const Project& project() const { return *project_; }
  double seconds() const { return seconds_; }

 private:
  std::optional<Project> project_;
  std::optional<SuiteRow> refused_;
  double seconds_ = 0;
};

}  // namespace

void run_suite(const Suite& suite, const SuiteRunRules& rules, Observer& observer,
               const std::function<void(const SuiteRow&, std::size_t)>& each) {
  const auto& names = suite.plan().projects;
  std::size_t begun = 0, done = 0;
  const auto settle = [&](std::size_t number, const SuiteRow& row) {
    suite.put(number, row);
    each(row, ++done);
  };
  Schedule schedule(rules.gpus, static_cast<std::size_t>(rules.per_gpu));
  std::vector<std::optional<Entry>> entries(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto before = suite.row(i);
    if (before && !(rules.again && !stands(*before))) {
      ++begun;
      ++done;
      continue;
    }
    entries[i].emplace(suite, rules, i);
    if (entries[i]->refused()) {
      ++begun;
      settle(i, *entries[i]->refused());
    } else {
      schedule.add(i, entries[i]->project().kernel.device);
    }
  }
  std::list<Child> children;
  while (!schedule.over()) {
    while (const auto placed = schedule.next()) {
      const Entry& entry = *entries[placed->project];
      observer.begin({.name = names[placed->project], .time_box_s = entry.seconds()}, ++begun, names.size());
      children.emplace_back(suite, rules, *placed, entry.project());
    }
    std::vector<Running> running;
    for (auto child = children.begin(); child != children.end();) {
      const auto ending = child->look();
      if (!ending) {
        running.push_back(child->running(names[child->project()]));
        ++child;
        continue;
      }
      const std::size_t number = child->project();
      const SuiteRow row = child->row(names[number], *ending);
      child = children.erase(child);
      schedule.ended(number);
      settle(number, row);
    }
    if (running.size() == 1) observer.progress(0, running.front().doing);
    if (running.size() > 1) observer.running(running);
    std::this_thread::sleep_for(kLookEvery);
  }
}

}  // namespace dent
