// SPDX-License-Identifier: MIT
// dent patterns: the library, ranked by what was measured here. dent patterns match: which of them speak to a
// session's diagnosis. dent patterns add: a lesson of one's own.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "cli/commands.h"
#include "patterns/evidence.h"
#include "patterns/match.h"
#include "patterns/write.h"
#include "project/manifest.h"
#include "report/diagnosis_view.h"
#include "report/format.h"
#include "report/session_view.h"
#include "workers/resources.h"

namespace dent::cli {
namespace {

struct PatternArguments {
  Common common;
  std::string session = "latest";
  Lesson lesson;
};

// With the evidence of this project's ledgers; without a project, the shipped ones as they are.
std::vector<Pattern> library(const std::string& project) {
  const auto shipped = find_resources().patterns;
  const std::filesystem::path folder = std::filesystem::is_directory(project)
                                           ? std::filesystem::path(project)
                                           : std::filesystem::path(project).parent_path();
  std::vector<Pattern> patterns = load_patterns(shipped, folder);
  learn(patterns, SessionStore(folder));
  return patterns;
}

// Tried before untried; among the tried by what they brought; among the untried by what they promise.
bool before(const Pattern& a, const Pattern& b) {
  const auto rank = [](const Pattern& p) {
    const double gain = p.evidence.median_gain.value_or(p.expected_gain.value_or(0));
    return std::tuple(p.evidence.tries > 0, p.evidence.median_gain.has_value(), gain, p.evidence.tries);
  };
  return rank(a) > rank(b);
}

JsonObject pattern_json(const Pattern& p) {
  const JsonObject evidence{{"tries", p.evidence.tries},
                            {"kept", p.evidence.kept},
                            {"failures", p.evidence.failures},
                            {"median_gain", p.evidence.median_gain}};
  std::vector<std::string> conditions;
  for (const Condition& condition : p.conditions) conditions.push_back(condition.text());
  JsonObject record{{"pattern", p.name},  {"title", p.title}, {"rule", p.rule},      {"fix", p.fix},
                    {"source", p.source}, {"own", p.own},     {"evidence", evidence}};
  record.may("phase", p.phase).may("cost", p.cost).add("expected_gain", p.expected_gain);
  return record.may("bottlenecks", p.bottlenecks).may("when", conditions);
}

ExitCode list(const PatternArguments& arguments) {
  std::vector<Pattern> patterns = library(arguments.common.project);
  std::stable_sort(patterns.begin(), patterns.end(), before);
  if (arguments.common.json) {
    JsonList records;
    for (const Pattern& pattern : patterns) records.add(pattern_json(pattern));
    print_json("patterns", {{"patterns", records}});
    return ExitCode::ok;
  }
  std::string text = fmt::format("{:<30} {:>5} {:>5} {:>6} {:>8} {:>8}  {}\n", "pattern", "tries", "kept",
                                 "failed", "median", "promise", "what");
  for (const Pattern& p : patterns) {
    text +=
        fmt::format("{:<30} {:>5} {:>5} {:>6} {:>8} {:>8}  {}\n", p.name, p.evidence.tries, p.evidence.kept,
                    p.evidence.failures, p.evidence.median_gain ? show_factor(*p.evidence.median_gain) : "-",
                    p.expected_gain ? show_factor(*p.expected_gain) : "-", p.title);
  }
  std::fputs(text.c_str(), stdout);
  return ExitCode::ok;
}

ExitCode match_session(const PatternArguments& arguments) {
  const Project project = read_project(arguments.common.project);
  const SessionStore store(project.directory);
  const SessionView view = load_session(store.find(arguments.session));
  if (view.diagnoses.empty()) {
    throw Error(ErrorCode::invalid, "session " + view.id + " has no diagnosis", "dent profile makes one");
  }
  const std::vector<Pattern> patterns = library(project.directory.string());
  JsonList records;
  std::string text;
  for (const record::Diagnosis& diagnosis : view.diagnoses) {
    const auto matches = match(patterns, situation_of(diagnosis));
    records.add(JsonObject{{"shape", diagnosis.shape},
                           {"bottleneck", diagnosis.finding.bottleneck},
                           {"patterns", hints(matches)}});
    text += fmt::format("{}: {}\n", diagnosis.shape, headline(diagnosis));
    if (matches.empty())
      text += "  no pattern speaks to that; dent patterns add records one when you know better\n";
    for (const PatternMatch& m : matches) {
      text += fmt::format("  {:>7}  {:<24} {}\n           {:<24} because {}\n", show_factor(m.expected_gain),
                          m.pattern->name, m.pattern->fix, "", m.why);
    }
  }
  if (arguments.common.json) {
    print_json("patterns match", {{"session", view.id}, {"matches", records}});
  } else {
    std::fputs(text.c_str(), stdout);
  }
  return ExitCode::ok;
}

ExitCode add_lesson(const PatternArguments& arguments) {
  const Project project = read_project(arguments.common.project);
  const auto file = write_pattern(project.directory, arguments.lesson);
  if (arguments.common.json) {
    print_json("patterns add", {{"file", file.string()}});
  } else {
    std::fputs((file.string() + "\n").c_str(), stdout);
  }
  return ExitCode::ok;
}

}  // namespace

void add_patterns(Command& dent) {
  auto arguments = std::make_shared<PatternArguments>();
  Command& command = dent.command("patterns", "The pattern library, ranked by what was measured here");
  add_common(command, arguments->common);
  command.examples(
      "  dent patterns\n  dent patterns match latest\n  dent patterns add --title ... --rule ... --fix ...");
  command.run([arguments] { return list(*arguments); });

  Command& matching = command.command("match", "Which patterns speak to a session's diagnosis");
  add_common(matching, arguments->common);
  matching.option("session", arguments->session, "Its id, the beginning of it, or \"latest\"").show_default();
  matching.run([arguments] { return match_session(*arguments); });

  Command& adding = command.command("add", "Record a lesson in the project's dent/patterns/ folder");
  add_common(adding, arguments->common);
  Lesson& lesson = arguments->lesson;
  adding.option("--title", lesson.title, "One line; also the file's name").required();
  adding.option("--rule", lesson.rule, "What is to be kept in mind").required();
  adding.option("--fix", lesson.fix, "What to do").required();
  adding.option("--bottleneck", lesson.bottlenecks, "Against which bottleneck (may be given several times)");
  adding.option("--when", lesson.conditions, "A condition on quantities, such as \"ctas < sms\"");
  adding.option("--phase", lesson.phase, "parallelism, tensor cores, memory, compute, tuning");
  adding.option("--tunable", lesson.tunable, "The tunable that is this fix");
  adding.option("--change", lesson.change, "What to do with it: up, down, any, or a value");
  adding.option("--variant", lesson.variant, "The variant that is this fix");
  adding.option("--gain", lesson.expected_gain, "What it should bring, such as 1.2");
  adding.option("--cost", lesson.cost, "What it takes");
  adding.option("--source", lesson.source, "Where the lesson is from");
  adding.run([arguments] { return add_lesson(*arguments); });
}

}  // namespace dent::cli
