// SPDX-License-Identifier: MIT
#include "report/diagnosis_view.h"

#include <fmt/format.h>

#include "report/format.h"

namespace dent {

std::string headline(const record::Diagnosis& d) {
  if (!d.finding.refusal.empty()) return "no diagnosis: " + d.finding.refusal;
  return d.finding.title + ": " + d.finding.says;
}

std::string runner_up(const record::Diagnosis& d) {
  return d.finding.runner_up.empty() ? "" : d.finding.runner_up + ": " + d.finding.runner_up_says;
}

std::string profiled_kernel(const record::Diagnosis& d) {
  return d.limiter.empty() ? d.kernel : d.kernel + ", occupancy limited by " + d.limiter;
}

std::string launch_text(const Launch& launch) {
  return fmt::format("{}: {:.0f} CTAs of {:.0f} threads{}", launch.kernel, launch.ctas, launch.cta_threads,
                     launch.duration_us > 0 ? ", " + show_ns(1e3 * launch.duration_us) : "");
}

std::string value_text(const record::TargetRow& row) {
  if (!row.value) return row.absent;
  return fmt::format("{:.4g}{}{}", *row.value, row.unit.empty() ? "" : " ", row.unit);
}

std::string met_text(const record::TargetRow& row) { return !row.good ? "" : *row.good ? "yes" : "no"; }

std::string evidence_text(const record::PatternEvidence& evidence) {
  if (evidence.tries == 0) return "not tried in this project";
  std::string text = fmt::format("{} {}", evidence.tries, evidence.tries == 1 ? "try" : "tries");
  if (evidence.median_gain) text += ", median " + show_factor(*evidence.median_gain);
  if (evidence.failures > 0) text += fmt::format(", {} failed", evidence.failures);
  return text;
}

std::optional<ProfiledPoint> profiled_point(const record::Diagnosis& d) {
  const bool counted = d.metrics.has("dram_bytes");
  const ProfiledPoint point{.flops = d.flops.value_or(0),
                            .bytes = counted ? d.metrics["dram_bytes"] : d.bytes,
                            .ns = d.metrics.has("duration_us") ? 1e3 * d.metrics["duration_us"] : 0};
  if (!(point.flops > 0) || !(point.bytes > 0) || !(point.ns > 0)) return std::nullopt;
  return point;
}

std::string diagnosis_text(const record::Diagnosis& d) {
  std::string out = headline(d) + "\n";
  const auto line = [&out](const char* name, const std::string& words) {
    if (!words.empty()) out += fmt::format("  {:<11} {}\n", name, words);
  };
  line("because", fmt::format("{}", fmt::join(d.finding.decided, "; ")));
  line("runner-up", runner_up(d));
  for (const std::string& other : d.finding.overturned) line("overturned", "if " + other);
  line("look at", d.finding.advice);
  line("kernel", profiled_kernel(d));
  line("by", fmt::format("{}, {:.1f} s{}", d.tool, d.elapsed_s,
                         d.tool_s > 0 ? fmt::format(", of which {:.1f} s in the profiler", d.tool_s) : ""));
  line("DEGRADED", d.why);
  for (const std::string& note : d.notes) line("note", note);
  if (!d.targets.empty()) out += "\n";
  for (const record::TargetRow& row : d.targets) {
    const char* mark = !row.good ? " " : *row.good ? "+" : "-";
    out += fmt::format("  {} {:<44} {:>16}  {}\n", mark, row.label, value_text(row), row.target);
  }
  if (!d.patterns.empty()) out += "\n";
  for (const record::PatternHint& hint : d.patterns) {
    out += fmt::format("  {} ({} expected, {}): {}\n", hint.pattern, show_factor(hint.expected_gain),
                       evidence_text(hint.evidence), hint.fix);
  }
  return out;
}

}  // namespace dent
