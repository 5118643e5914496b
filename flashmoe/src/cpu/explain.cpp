// SPDX-License-Identifier: MIT
// A plan in words.
#include <algorithm>
#include <string>

#include "cpu/backward_plan.h"
#include "cpu/plan.h"
#include "cpu/sequences_plan.h"
#include "problem/scores_in_words.h"
#include "problem/window_in_words.h"

namespace flashmoe::cpu {
namespace {

std::string count(int64_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

std::string size(std::size_t bytes) {
  if (bytes < 10 * 1024) return std::to_string(bytes) + " bytes";
  if (bytes < 10 * 1024 * 1024) return std::to_string(bytes / 1024) + " KiB";
  return std::to_string(bytes / 1024 / 1024) + " MiB";
}

// What is not plain of the mask and the scores.
std::string details_of(const ForwardProblem& p) {
  const std::string window = window_in_words(p), spans = spans_in_words(p.spans), scores = scores_in_words(p);
  return (window.empty() ? "" : "  window: " + window + "\n") +
         (spans.empty() ? "" : "  spans: " + spans + "\n") +
         (scores.empty() ? "" : "  scores: " + scores + "\n");
}

}  // namespace

std::string describe(const Plan& plan, const ForwardProblem& p) {
  std::string text = std::string("cpu: ") + plan.kernel->name + ", " + plan.kernel->reason + "\n";
  text += "  rows: " + count(plan.rows, "row") + " a K/V head (" + count(p.group(), "query head") + " of " +
          count(p.q_rows, "position") + "), in panels of " + std::to_string(plan.kernel->panel_rows) + "\n" +
          details_of(p);
  const std::string heads = plan.heads_per_task == 1 ? count(plan.heads, "K/V head")
                                                     : count(plan.heads / plan.heads_per_task, "group") +
                                                           " of " + count(plan.heads_per_task, "K/V head");
  text += "  tasks: " + std::to_string(plan.tasks()) + " = " + heads + " x " +
          count(plan.row_blocks, "row block") + " of " + std::to_string(plan.rows_per_task) + " x " +
          count(plan.splits, "key split") + " of " + std::to_string(plan.keys_per_split) + "\n";
  text += "  threads: " + std::to_string(plan.threads);
  if (plan.splits > 1) text += "; keys are split because heads and rows alone leave threads idle";
  text += "\n  workspace: " + size(plan.workspace_bytes) + " = " + count(plan.threads, "thread") + " x " +
          size(plan.scratch_bytes) + " of scratch";
  if (plan.splits > 1) text += " + " + size(plan.partial_bytes) + " of partial results";
  return text + "\n";
}

std::string describe(const BackwardPlan& plan, const ForwardProblem& p) {
  std::string text = std::string("cpu: ") + plan.kernel->name + ", " + plan.kernel->reason + "\n";
  text += "  rows: " + count(plan.rows, "row") + " a K/V head (" + count(p.group(), "query head") + " of " +
          count(p.q_rows, "position") + ")\n" + details_of(p);
  text += "  tasks: " + std::to_string(plan.tasks()) + " = " + count(plan.heads, "K/V head") + " x " +
          count(plan.splits, "key split") + " of " + std::to_string(plan.keys_per_split) + "\n";
  text += "  threads: " + std::to_string(plan.threads);
  if (plan.splits > 1) text += "; keys are split because heads alone leave threads idle";
  if (plan.groups < plan.heads)
    text +=
        "; heads that add to the same elements of dattn_mask take turns, in " + count(plan.groups, "group");
  text += "\n  workspace: " + size(plan.workspace_bytes) + " = " + count(plan.threads, "thread") + " x " +
          size(plan.scratch_bytes) + " of scratch + " + count(plan.sums(), "sum") + " of dq x " +
          size(static_cast<std::size_t>(plan.dq_sums) * sizeof(float));
  return text + "\n";
}

namespace {

// "3 to 40 rows, 75 in all", or "40 rows each"
class Spread {
 public:
  void add(int64_t length) {
    least_ = most_ < 0 ? length : std::min(least_, length);
    most_ = std::max(most_, length);
    total_ += length;
  }
  std::string of(const char* what) const {
    if (least_ == most_) return count(most_, what) + " each";
    return std::to_string(least_) + " to " + count(std::max<int64_t>(most_, 0), what) + ", " +
           std::to_string(total_) + " in all";
  }

 private:
  int64_t least_ = 0, most_ = -1, total_ = 0;
};

}  // namespace

std::string describe(const SequencesPlan& plan, const Sequences& sequences, const KernelUses& uses) {
  std::string text =
      "cpu: " + count(sequences.count(), "sequence") + ", each computed as in a call of its own\n";
  Spread rows, keys;
  for (int64_t i = 0; i < sequences.count(); ++i) {
    rows.add(sequences[i].q.rows.size());
    keys.add(sequences[i].k.rows.size());
  }
  text += "  lengths: " + rows.of("row") + "; " + keys.of("key") + "\n" + details_of(sequences.whole());
  text += "  kernels:";
  const char* before = " ";
  for (const auto& [kernel, number] : uses.sequences) {
    text += before + kernel + " for " + count(number, "sequence");
    before = ", ";
  }
  if (plan.computed < sequences.count())
    text += before + std::string("none for ") + count(sequences.count() - plan.computed, "sequence") +
            " without rows or keys";
  text += "\n  tasks: " + std::to_string(plan.tasks) + ", longest first";
  if (plan.clear_tasks > 0) text += "; rows that don't count are set to 0";
  text += "\n  threads: " + std::to_string(plan.threads);
  text += "\n  workspace: " + size(plan.workspace_bytes) + " = " + count(plan.threads, "thread") + " x " +
          size(plan.scratch_bytes + static_cast<std::size_t>(plan.sums) * sizeof(float)) + " of scratch + " +
          size(plan.list_bytes) + " of plans";
  if (plan.shared_bytes > 0) text += " + " + size(plan.shared_bytes) + " of partial results";
  return text + "\n";
}

}  // namespace flashmoe::cpu
