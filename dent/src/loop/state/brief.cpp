// SPDX-License-Identifier: MIT
#include "loop/state/brief.h"

#include <algorithm>

#include "project/choice.h"
#include "records/json.h"
#include "records/loop.h"

namespace dent {
namespace {

constexpr int kBriefSchema = 1;

// What stands in the document where the brief has something larger, or only leads there.
struct ShapeEntry {
  ShapeNow of;
};
struct HistoryEntry {
  PastIteration of;
};
struct PendingEntry {
  PastIteration of;
};
struct TunableEntry {
  std::string name;
  std::vector<std::string> values;
  std::string now, phase, about;
};
struct VariantEntry {
  std::string name, phase, about;
};

void fields(Fields& f, ShapeEntry& entry) {
  dent::fields(f, entry.of.shape);
  f("baseline_ns", entry.of.baseline_ns, "median of a call of the baseline's");
  f("incumbent_ns", entry.of.incumbent_ns, "of the best version's");
}

void fields(Fields& f, HistoryEntry& entry) {
  f("iteration", entry.of.number, "its number");
  dent::fields(f, entry.of.proposal);
  f("outcome", entry.of.outcome, "what became of it");
}

void fields(Fields& f, PendingEntry& entry) {
  f("iteration", entry.of.number, "its number");
  dent::fields(f, entry.of.proposal);
}

void fields(Fields& f, TunableEntry& entry) {
  f("name", entry.name, "the macro");
  f("values", entry.values, "that it may have");
  f("now", entry.now, "that it has");
  f("phase", entry.phase, "of the loop in which it matters");
  f("about", entry.about, "one line, for people");
}

void fields(Fields& f, VariantEntry& entry) {
  f("name", entry.name, "its name");
  f("phase", entry.phase, "of the loop in which it matters");
  f("about", entry.about, "one line, for people");
}

template <class Entry, class List>
std::vector<Entry> entries(const List& list) {
  std::vector<Entry> all;
  for (const auto& item : list) all.push_back({item});
  return all;
}

std::vector<TunableEntry> tunables(const Project& project, const Choice& incumbent) {
  std::vector<TunableEntry> all;
  for (const Tunable* tunable : tunables_of(project, incumbent)) {
    all.push_back(
        {tunable->name, tunable->values, value_of(*tunable, incumbent), tunable->phase, tunable->about});
  }
  return all;
}

std::vector<VariantEntry> variants(const Project& project) {
  std::vector<VariantEntry> all;
  for (const Variant& variant : project.variants) all.push_back({variant.name, variant.phase, variant.about});
  return all;
}

// A copy: fields are named by reference, and some are put together here.
void write(Fields& f, Brief brief) {
  int schema = kBriefSchema;
  auto shapes = entries<ShapeEntry>(brief.shapes);
  auto history = entries<HistoryEntry>(brief.history);
  auto pending = entries<PendingEntry>(brief.pending);
  std::string worktree = brief.worktree.string();
  Choice incumbent = brief.incumbent;
  if (incumbent.variant.empty()) incumbent.variant = kFirstRung;
  f("schema", schema, "of this document");
  f("iteration", brief.iteration, "that is asked for");
  f("goal", brief.goal, "one line");
  f.may("target", brief.target, "times the baseline's speed; left out: as far as it goes");
  f("speedup", brief.speedup, "of the best version, over the baseline");
  f("budget_left", brief.left, "what is left");
  f("phase", brief.phase, "that the diagnosis points to");
  if (brief.diagnosis) {
    std::vector<record::PatternHint> patterns = std::move(brief.diagnosis->patterns);
    brief.diagnosis->patterns.clear();
    f("diagnosis", *brief.diagnosis, "what holds the best version back; its patterns are beside it");
    f("patterns", patterns, "that mend that, the most promising first");
  }
  f("incumbent", incumbent, "the choice of the best version");
  if (brief.project != nullptr) {
    auto all_tunables = tunables(*brief.project, brief.incumbent);
    auto all_variants = variants(*brief.project);
    f("tunables", all_tunables, "that the incumbent reads");
    f("variants", all_variants, "of the manifest");
  }
  f("shapes", shapes, "with the times of baseline and best version");
  f("history", history, "every proposal and what became of it");
  if (!pending.empty()) f("pending", pending, "proposals that are being tried: another one is asked for");
  f("allowed_files", brief.allowed_files, "patterns of what may be edited");
  f("protected_files", brief.protected_files, "what may not");
  f("patch_lines", brief.patch_lines, "that a change may have at most");
  f("worktree", worktree, "the project's folder with the best version in it");
}

}  // namespace

bool Brief::was_tried(const std::string& variant) const {
  const auto is_it = [&](const PastIteration& past) { return past.proposal.variant == variant; };
  return std::any_of(history.begin(), history.end(), is_it) ||
         std::any_of(pending.begin(), pending.end(), is_it);
}

std::string brief_document(const Brief& brief) {
  return indented(write_json([&brief](Fields& f) { write(f, brief); })) + "\n";
}

}  // namespace dent
