// SPDX-License-Identifier: MIT
#include "suites/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "ledger/session_store.h"
#include "project/manifest.h"
#include "records/json.h"
#include "system/durable_file.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

// "19_ReLU" -> 19; names without a number come last.
int number_of(const std::string& name) {
  int number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  return problem == std::errc() && end != name.data() ? number : 1 << 30;
}

bool in_order(const std::string& a, const std::string& b) {
  const fs::path left(a), right(b);
  for (auto l = left.begin(), r = right.begin(); l != left.end() && r != right.end(); ++l, ++r) {
    if (*l == *r) continue;
    const int first = number_of(l->string()), second = number_of(r->string());
    return first == second ? *l < *r : first < second;
  }
  return std::distance(left.begin(), left.end()) < std::distance(right.begin(), right.end());
}

std::string file_name(std::size_t number, const char* ending) {
  return fmt::format("{:04}{}", number + 1, ending);
}

}  // namespace

void fields(Fields& f, SuitePlan& plan) {
  f("projects", plan.projects, "their folders, relative to the suite's");
  f.may("with", plan.with, "gates beyond those of dent run");
  f.may("without", plan.without, "gates that are left out");
}

void fields(Fields& f, SuiteRow& row) {
  f("project", row.project, "its folder");
  f("verdict", row.verdict, "of its session");
  f("reason", row.reason, "why");
  f("exit_code", row.exit_code, "of its dent");
  f("ratio", row.ratio, "mean over the shapes that were timed");
  f.may("busy", row.busy, "whether the machine was busy meanwhile: the ratio's interval is widened by that");
  f.may("session", row.session, "in the project's .dent");
  f.may("device", row.device, "that it ran on");
  f("seconds", row.seconds, "that it took");
}

Found found(const SuiteRow& row) {
  if (!row.verdict) return Found::not_judged;
  switch (*row.verdict) {
    case Verdict::pass:
    case Verdict::faster:
    case Verdict::same:
    case Verdict::slower:
    case Verdict::ambiguous:
    case Verdict::regressed:
    case Verdict::busy_machine:
    case Verdict::kept:
      return Found::right;
    case Verdict::incorrect:
    case Verdict::cheat:
    case Verdict::build_failed:
    case Verdict::timeout:
      return Found::wrong;
    case Verdict::environment:
    case Verdict::budget:
    case Verdict::missed:
    case Verdict::dropped:
    case Verdict::refused:
    case Verdict::interrupted:
      break;
  }
  return Found::not_judged;
}

bool stands(const SuiteRow& row) {
  return found(row) != Found::not_judged && row.verdict != Verdict::busy_machine;
}

std::vector<std::string> projects_below(const fs::path& folder) {
  std::error_code problem;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied, problem);
  if (problem)
    throw Error(ErrorCode::invalid, fmt::format("{} can't be listed: {}", folder.string(), problem.message()),
                "name a folder with projects in it");
  std::vector<std::string> projects;
  for (; entries != fs::recursive_directory_iterator(); entries.increment(problem)) {
    const std::string name = entries->path().filename().string();
    if (name.starts_with(".") && entries->is_directory()) entries.disable_recursion_pending();
    if (name == kManifestName && entries->is_regular_file())
      projects.push_back(fs::relative(entries->path().parent_path(), folder).string());
    if (problem) break;
  }
  if (projects.empty()) {
    throw Error(ErrorCode::invalid, fmt::format("no {} in {} or below", kManifestName, folder.string()),
                "make projects there: dent init attention DIR, dent import kernelbench LEVEL --into DIR");
  }
  std::sort(projects.begin(), projects.end(), in_order);
  return projects;
}

fs::path suites_folder(const fs::path& folder) {
  SessionStore store(folder);
  const fs::path suites = store.prepare() / "suites";
  create_folder_durably(suites);
  return suites;
}

Suite::Suite(fs::path folder, std::string id)
    : id_(std::move(id)), folder_(std::move(folder)), records_(folder_ / ".dent" / "suites" / id_) {}

Suite Suite::create(const fs::path& folder, SuitePlan plan) {
  suites_folder(folder);
  Suite suite(folder, name_by_time());
  create_folder_durably(suite.records_);
  create_folder_durably(suite.records_ / "rows");
  create_folder_durably(suite.records_ / "logs");
  write_durably(suite.records_ / "suite.json", indented(to_json_text(plan)) + "\n");
  suite.plan_ = std::move(plan);
  return suite;
}

Suite Suite::open(const fs::path& folder, std::string_view id) {
  std::vector<std::string> fits;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder / ".dent" / "suites", none)) {
    const std::string name = entry.path().filename().string();
    if (!fs::exists(entry.path() / "suite.json")) continue;  // it was killed before it began
    if (id == "latest" || name.starts_with(id)) fits.push_back(name);
  }
  std::sort(fits.begin(), fits.end());
  if (fits.empty() || (fits.size() > 1 && id != "latest")) {
    throw Error(ErrorCode::invalid,
                fits.empty() ? fmt::format("no suite \"{}\" was run in {}", id, folder.string())
                             : fmt::format("\"{}\" may be {}", id, fmt::join(fits, ", ")),
                "start one: dent suite run " + folder.string());
  }
  Suite suite(folder, fits.back());
  suite.plan_ = from_json_text<SuitePlan>(text_of(suite.records_ / "suite.json"));
  return suite;
}

fs::path Suite::log(std::size_t number) const { return records_ / "logs" / file_name(number, ".txt"); }

std::optional<SuiteRow> Suite::row(std::size_t number) const {
  const auto text = read_text(records_ / "rows" / file_name(number, ".json"));
  if (!text) return std::nullopt;
  return from_json_text<SuiteRow>(*text);
}

void Suite::put(std::size_t number, const SuiteRow& row) const {
  write_durably(records_ / "rows" / file_name(number, ".json"), to_json_text(row) + "\n");
}

std::vector<SuiteRow> Suite::rows() const {
  std::vector<SuiteRow> all;
  for (std::size_t i = 0; i < plan_.projects.size(); ++i) {
    all.push_back(row(i).value_or(SuiteRow{.project = plan_.projects[i],
                                           .verdict = Verdict::interrupted,
                                           .reason = "not reached yet: dent suite resume",
                                           .exit_code = 14}));
  }
  return all;
}

}  // namespace dent
