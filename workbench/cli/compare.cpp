// SPDX-License-Identifier: MIT
// dent compare A B: did the kernel get faster or slower between two sessions? Each was measured against the
// baseline of its own session, so the machine's mood on the day falls out.
#include <fmt/format.h>

#include <cstdio>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/terminal.h"
#include "measure/verdict.h"
#include "project/manifest.h"
#include "report/session_view.h"

namespace dent::cli {
namespace {

struct CompareArguments {
  Common common;
  std::string before;
  std::string after = "latest";
};

Verdict verdict_on(SpeedVerdict change) {
  switch (change) {
    case SpeedVerdict::faster:
      return Verdict::faster;
    case SpeedVerdict::same:
      return Verdict::same;
    case SpeedVerdict::slower:
      return Verdict::regressed;
    case SpeedVerdict::ambiguous:
      break;
  }
  return Verdict::ambiguous;
}

ExitCode compare(const CompareArguments& arguments) {
  const Project project = read_project(arguments.common.project);
  const SessionStore store(project.directory);
  const SessionView before = load_session(store.find(arguments.before));
  const SessionView after = load_session(store.find(arguments.after));
  if (before.session.baseline != after.session.baseline) {
    throw Error(ErrorCode::invalid,
                fmt::format("{} was compared with {}, {} with {}: their ratios have nothing in common",
                            before.id, before.session.baseline, after.id, after.session.baseline));
  }
  JsonList rows;
  std::vector<Ratio> changes;
  std::vector<double> weights;  // as they are now
  std::vector<SpeedVerdict> verdicts;
  std::size_t common = 0;
  bool busy = false;
  std::string text = fmt::format("{:<14} {:>9} {:>9} {:>9}  {:<18} {}\n", "shape", "before", "after",
                                 "change", "95 % interval", "verdict");
  const double same_within = project.performance.same_within;
  for (const record::Comparison& old : before.comparisons) {
    const record::Comparison* now = after.comparison(old.shape);
    if (now == nullptr) continue;
    ++common;
    busy = busy || old.busy || now->busy;
    if (!old.ratio || !now->ratio) continue;  // too few samples for an interval: nothing to compare
    const Ratio ratio = change(*old.ratio, *now->ratio);
    changes.push_back(ratio);
    weights.push_back(now->weight);
    const SpeedVerdict verdict = judge(ratio, same_within);
    verdicts.push_back(verdict);
    rows.add(JsonObject{{"shape", old.shape},
                        {"before", old.ratio},
                        {"after", now->ratio},
                        {"change", ratio},
                        {"verdict", name(verdict)}});
    text += fmt::format("{:<14} {:>8.3f}x {:>8.3f}x {:>8.3f}x  {:<18} {}\n", old.shape, old.ratio->centre,
                        now->ratio->centre, ratio.centre,
                        fmt::format("{:.3f} to {:.3f}", ratio.interval.low, ratio.interval.high),
                        painted(name(verdict), colour_of(verdict), colours(1)));
  }
  if (common == 0) {
    throw Error(ErrorCode::invalid,
                fmt::format("{} and {} have no measured shape in common", before.id, after.id),
                "compare sessions of dent run or dent bench; dent log lists them");
  }
  if (changes.size() < common) {
    const std::string reason = "too few samples for an interval on some shapes";
    if (arguments.common.json) {
      print_json("compare", {{"before", before.id},
                             {"after", after.id},
                             {"shapes", rows},
                             {"verdict", name(Verdict::ambiguous)},
                             {"reason", reason},
                             {"exit_code", static_cast<int>(ExitCode::ambiguous)}});
    } else {
      std::fputs(fmt::format("{}\n{}: {}\n", text, name(Verdict::ambiguous), reason).c_str(), stdout);
    }
    return ExitCode::ambiguous;
  }
  const Ratio mean = geometric_mean(changes, weights);
  const Verdict verdict = busy ? Verdict::busy_machine : verdict_on(judge_whole(mean, verdicts, same_within));
  const ExitCode code = exit_code(verdict);
  if (arguments.common.json) {
    print_json("compare", {{"before", before.id},
                           {"after", after.id},
                           {"shapes", rows},
                           {"change", mean},
                           {"verdict", name(verdict)},
                           {"exit_code", static_cast<int>(code)}});
  } else {
    text += fmt::format("\n{}: {:.3f}x ({:.3f} to {:.3f}) over {} shapes, {} -> {}\n",
                        painted(name(verdict), colour_of(verdict), colours(1)), mean.centre,
                        mean.interval.low, mean.interval.high, changes.size(), before.id, after.id);
    std::fputs(text.c_str(), stdout);
  }
  return code;
}

}  // namespace

void add_compare(Command& dent) {
  auto arguments = std::make_shared<CompareArguments>();
  Command& command =
      dent.command("compare", "Compare two sessions; the exit code tells a regression from noise");
  add_common(command, arguments->common);
  command.option("before", arguments->before, "Session to compare with").required();
  command.option("after", arguments->after, "Session to compare").show_default();
  command.examples(
      "  dent compare 20260331-1405 latest\n  dent compare 20260331-1405 latest || echo \"exit code $?\"");
  command.run([arguments] { return compare(*arguments); });
}

}  // namespace dent::cli
