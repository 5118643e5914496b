// SPDX-License-Identifier: MIT
// dent bisect: which commit made the kernel slow?
#include "commits/bisect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "commits/measure_commit.h"
#include "ledger/project_lock.h"
#include "project/manifest.h"
#include "report/format.h"
#include "session/supervise.h"

namespace dent::cli {
namespace {

constexpr int kLonger =
    3;  // times that a commit is measured, each twice as long, before it counts as unknown

struct BisectArguments {
  Common common;
  std::string good, bad;
  std::vector<std::string> shapes;
};

struct Judged {
  std::string commit, words;
  Standing standing = Standing::unknown;
  std::optional<Ratio> ratio{};
  std::string why{};      // unknown
  bool too_busy = false;  // a machine, for it to be known
};

class Bisection {
 public:
  Bisection(const BisectArguments& arguments, const Project& project, SessionStore& store,
            const Repository& repository)
      : arguments_(arguments),
        project_(project),
        store_(store),
        repository_(repository),
        good_(commit_named(repository, arguments.good)),
        bad_(commit_named(repository, arguments.bad)),
        reference_(repository, store.folder() / "worktrees" / "good", good_) {}

  struct Found {
    std::vector<std::string> first{};  // commits that are left
    std::optional<Conclusion>
        untold{};  // of the two against each other, where it does not say which is slower
  };

  // Throws Error where there is nothing to look for.
  Found run() {
    say(fmt::format("{} against {}: is it slower?", in_short(repository_, bad_),
                    in_short(repository_, good_)));
    const MeasuredCommit whole = measure(bad_, project_.performance.seconds);
    if (whole.end.verdict == Verdict::faster || whole.end.verdict == Verdict::same) {
      throw Error(ErrorCode::invalid,
                  fmt::format("{:.12} is not slower than {:.12}: {}: {}", bad_, good_,
                              name(whole.end.verdict), whole.end.reason),
                  "name two commits that differ, on the machine where they did");
    }
    if (whole.end.verdict != Verdict::slower) return {.untold = whole.end};
    // Half way between the two, where all of it came at once.
    const Ratio loss = whole.session.mean().value();
    halfway_ = std::sqrt(loss.centre);
    say(fmt::format("yes: {}; about {} commits are measured", show_ratio(loss),
                    halvings(repository_, good_, bad_)));
    judged_.push_back(
        {.commit = bad_, .words = in_short(repository_, bad_), .standing = Standing::as_bad, .ratio = loss});
    return {.first =
                bisect(repository_, good_, bad_, [&](const std::string& commit) { return judge(commit); })};
  }

  const std::vector<Judged>& judged() const { return judged_; }

 private:
  MeasuredCommit measure(const std::string& commit, double seconds) {
    Audience audience(arguments_.common);
    return measure_commit(project_, store_, repository_, reference_,
                          {"bisect", commit, good_, arguments_.shapes, seconds}, audience);
  }

  Standing judge(const std::string& commit) {
    Judged found{.commit = commit, .words = in_short(repository_, commit)};
    double seconds = project_.performance.seconds;
    for (int time = 0; time < kLonger; ++time, seconds *= 2) {
      try {
        const MeasuredCommit measured = measure(commit, seconds);
        found.ratio = measured.session.mean();
        found.too_busy = measured.session.summary && measured.session.summary->busy;
        found.why = !found.ratio ? measured.end.reason
                    : found.too_busy
                        ? fmt::format("the machine was too busy to tell ({})", measured.end.reason)
                        : "can't be told from noise";
        if (!found.ratio) break;
      } catch (const Error& problem) {
        found.why = problem.in_one_line();
        found.too_busy = false;
        break;
      }
      if (found.ratio->interval.low > halfway_) found.standing = Standing::as_good;
      if (found.ratio->interval.high < halfway_) found.standing = Standing::as_bad;
      if (found.standing != Standing::unknown) {
        found.too_busy = false;
        break;
      }
    }
    say(in_words(found));
    judged_.push_back(found);
    return found.standing;
  }

  static std::string in_words(const Judged& judged) {
    switch (judged.standing) {
      case Standing::as_good:
        return fmt::format("good     {}  {}", show_ratio(*judged.ratio), judged.words);
      case Standing::as_bad:
        return fmt::format("slower   {}  {}", show_ratio(*judged.ratio), judged.words);
      case Standing::unknown:
        break;
    }
    return fmt::format("skipped  {}: {}", judged.words, judged.why);
  }

  void say(const std::string& text) const {
    if (!arguments_.common.quiet) std::fputs((text + "\n").c_str(), stderr);
  }

  const BisectArguments& arguments_;
  const Project& project_;
  SessionStore& store_;
  const Repository& repository_;
  std::string good_, bad_;
  CommittedProject reference_;
  double halfway_ = 1;
  std::vector<Judged> judged_;
};

const char* word(Standing standing) {
  switch (standing) {
    case Standing::as_good:
      return "good";
    case Standing::as_bad:
      return "slower";
    case Standing::unknown:
      break;
  }
  return "skipped";
}

ExitCode run(const BisectArguments& arguments) {
  const Project project = read_project(arguments.common.project);
  run_supervised("dent bisect starts anew", [&] { remove_worktrees(project.directory); });
  SessionStore store(project.directory);
  const ProjectLock lock(store.prepare());
  const Repository repository(project.directory, store.folder(), kManifestName);
  Bisection bisection(arguments, project, store, repository);
  const auto [first, untold] = bisection.run();
  const bool too_busy = std::ranges::any_of(bisection.judged(), [](const Judged& one) {
    return one.too_busy && one.standing == Standing::unknown;
  });
  const ExitCode code = untold              ? untold->code
                        : first.size() == 1 ? ExitCode::ok
                        : too_busy          ? ExitCode::busy_machine
                                            : ExitCode::ambiguous;
  if (arguments.common.json) {
    JsonList judged;
    for (const Judged& one : bisection.judged()) {
      judged.add(JsonObject{{"commit", one.commit},
                            {"subject", one.words},
                            {"standing", word(one.standing)},
                            {"ratio", one.ratio},
                            {"why", one.standing == Standing::unknown ? one.why : ""}});
    }
    JsonObject document{{"first", first}, {"judged", judged}};
    if (untold) document.add("verdict", name(untold->verdict)).add("reason", untold->reason);
    print_json("bisect", document.add("exit_code", static_cast<int>(code)));
    return code;
  }
  if (untold) {
    std::puts(fmt::format("whether it is slower was not found out: {}: {}\nnext: {}", name(untold->verdict),
                          untold->reason, untold->next)
                  .c_str());
    return code;
  }
  if (code == ExitCode::ok) {
    std::puts(fmt::format("the first slower commit: {}", in_short(repository, first.front())).c_str());
  } else {
    std::puts("the first slower commit is one of these; the others could not be measured:");
    for (const std::string& commit : first) std::puts(in_short(repository, commit).c_str());
  }
  return code;
}

}  // namespace

void add_bisect(Command& dent) {
  auto arguments = std::make_shared<BisectArguments>();
  Command& command = dent.command("bisect", "Find the commit that made the kernel slow");
  add_common(command, arguments->common);
  command.option("good", arguments->good, "A commit that was fast, as git names it").required();
  command.option("bad", arguments->bad, "A later one that is slow").required();
  command.option("-s,--shape", arguments->shapes, "Only this shape (may be given several times)");
  command.examples("  dent bisect v1.2 HEAD\n  dent bisect v1.2 HEAD --shape large");
  command.run([arguments] { return run(*arguments); });
}

}  // namespace dent::cli
