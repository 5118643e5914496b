// SPDX-License-Identifier: MIT
#include "bundle/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "cell/cell.h"
#include "ledger/ledger.h"
#include "ledger/project_lock.h"
#include "project/manifest.h"
#include "project/untrusted.h"
#include "records/json.h"
#include "report/format.h"
#include "session/plan.h"
#include "session/run.h"
#include "system/unpack.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

void compare_files(const fs::path& folder, const BundleList& list, std::vector<std::string>& faults) {
  std::map<std::string, BundledFile> there;
  for (BundledFile& file : files_in(folder)) there.emplace(file.path, std::move(file));
  for (const BundledFile& listed : list.files) {
    for (const fs::path& part : fs::path(listed.path)) {
      if (part == ".git" || part == ".dent")
        faults.push_back(listed.path + ": a bundle has no " + part.string());
    }
    const auto found = there.find(listed.path);
    if (found == there.end()) {
      faults.push_back(listed.path + " is missing");
      continue;
    }
    if (found->second.bytes != listed.bytes || found->second.sha256 != listed.sha256)
      faults.push_back(listed.path + " was changed: its content is not the one that is listed");
    there.erase(found);
  }
  for (const auto& [path, file] : there) faults.push_back(path + " is not listed: it was added");
  // What is measured again is a project of the bundle, and none that was here before.
  const std::string manifest = (fs::path(list.project) / kManifestName).string();
  if (std::ranges::find(list.files, manifest, &BundledFile::path) == list.files.end())
    faults.push_back(list.project + " is named as the project, and no such one is listed");
}

struct ReportVerdict {
  std::string verdict;
};
void fields(Fields& f, ReportVerdict& report) { f("verdict", report.verdict, "of the session"); }

void check_ledger(const fs::path& folder, const BundleList& list, std::vector<std::string>& faults) {
  try {
    const LedgerContent ledger = read_ledger(folder / "session" / "ledger.jsonl");
    if (ledger.chain != list.chain)
      faults.emplace_back("the ledger ends with another line than the one that is listed");
    if (ledger.unchained > 0)
      faults.emplace_back("the ledger has lines without a chain: an edit of them can't be noticed");
    const SessionView view = view_session(list.session, ledger.records);
    const auto report = read_text(folder / "session" / "report.json");
    if (report && from_json_text<ReportVerdict>(*report).verdict != name(view.verdict))
      faults.push_back(
          fmt::format("the report says other than the ledger, which ends with {}", name(view.verdict)));
  } catch (const Error& problem) {
    faults.push_back(problem.in_one_line());
  }
}

std::string gpu_of(const SessionView& view) {
  if (view.session.device != DeviceKind::cuda) return {};
  return view.session.device_name;
}

bool is_right(Verdict verdict) {
  return verdict == Verdict::pass || verdict == Verdict::faster || verdict == Verdict::same ||
         verdict == Verdict::slower || verdict == Verdict::ambiguous || verdict == Verdict::busy_machine;
}

}  // namespace

void unpack_bundle(const fs::path& archive, const fs::path& folder) {
  if (!fs::is_regular_file(archive))
    throw Error(ErrorCode::invalid, archive.string() + " is no file", "name a bundle: dent bundle makes one");
  unpack(archive, folder);
}

CheckedBundle check_bundle(const fs::path& folder) {
  const auto text = read_text(folder / "bundle.json");
  if (!text) throw Error(ErrorCode::invalid, "it is no bundle: it has no bundle.json");
  CheckedBundle checked{.id = bundle_id(*text), .list = from_json_text<BundleList>(*text), .faults = {}};
  if (checked.list.schema > kBundleSchema) {
    throw Error(
        ErrorCode::invalid,
        fmt::format("the bundle has schema {}; this dent knows up to {}", checked.list.schema, kBundleSchema),
        "use the dent that made it, or a newer one");
  }
  try {
    compare_files(folder, checked.list, checked.faults);
  } catch (const Error& problem) {
    checked.faults.push_back(problem.in_one_line());
  }
  check_ledger(folder, checked.list, checked.faults);
  return checked;
}

MachineDifference difference_between(const SessionView& there, const SessionView& here) {
  MachineDifference found;
  const auto compare = [&](const char* what, const std::string& a, const std::string& b, bool hardware) {
    if (a == b) return;
    found.words.push_back(
        fmt::format("{}: {} there, {} here", what, a.empty() ? "none" : a, b.empty() ? "none" : b));
    if (hardware) found.same_hardware = false;
  };
  const record::Environment a = there.environment.value_or(record::Environment{}),
                            b = here.environment.value_or(record::Environment{});
  compare("instruction set", a.machine, b.machine, true);
  compare("processor", a.cpu.model, b.cpu.model, true);
  compare("cores", std::to_string(a.cpu.cores), std::to_string(b.cpu.cores), true);
  compare("GPU", gpu_of(there), gpu_of(here), true);
  if (!gpu_of(there).empty() && !a.gpus.empty() && !b.gpus.empty())
    compare("driver", a.gpus.front().driver, b.gpus.front().driver, false);
  compare("system", a.system, b.system, false);
  compare("dent", there.session.dent_version, here.session.dent_version, false);
  compare("baseline", there.session.baseline, here.session.baseline, false);
  return found;
}

Remeasured measure_again(const fs::path& folder, const BundleList& list, bool trusted, Observer& observer) {
  Remeasured found;
  found.there = view_session(list.session, read_ledger(folder / "session" / "ledger.jsonl").records);
  if (!trusted) {
    if (const Cell cell(Sandbox::automatic); !cell.stands()) {
      throw Error(ErrorCode::environment, "no cell for another author's kernel: " + cell.why_not(),
                  cell.remedy() + "; or, where you trust its author: dent verify --trust");
    }
  }
  const fs::path directory = folder / list.project;
  if (!trusted) read_all_as_untrusted(folder);
  const Project project = read_project(directory);
  SessionStore store(project.directory);
  const ProjectLock lock(store.prepare());
  const SessionFolder session = store.create();
  const auto gates = gates_of_run({}, {"profile"});
  const SessionRequest request{"verify", make_plan(project, {gates, found.there.session.shapes, {}}), gates,
                               found.there.session.shapes};
  const Conclusion end = run_plan(project, store, session, request, observer);
  found.here = load_session(session);
  found.machines = difference_between(found.there, found.here);
  found.verdict = end.verdict;
  found.reason = end.reason;
  if (!is_right(end.verdict)) return found;
  const std::string verdicts = fmt::format("{} there, {} here", name(found.there.verdict), name(end.verdict));
  if (!found.machines.same_hardware) {
    found.verdict = Verdict::pass;
    found.reason = fmt::format(
        "right here too; {}. On other hardware times can't be compared, and a verdict may differ", verdicts);
    return found;
  }
  if (found.there.comparisons.empty() || found.here.comparisons.empty()) {
    found.reason = fmt::format("right here too; {}. No speed was measured on both", verdicts);
    return found;
  }
  found.change = change_between(found.there, found.here, project.performance.same_within);
  found.verdict = found.change->verdict;
  found.reason = fmt::format("right here too; {}. Speed against the baseline {}", verdicts,
                             found.change->mean ? "changed by " + show_ratio(*found.change->mean)
                                                : "has too few samples to compare");
  return found;
}

}  // namespace dent
