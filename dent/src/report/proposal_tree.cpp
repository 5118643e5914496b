// SPDX-License-Identifier: MIT
#include "report/proposal_tree.h"

#include <fmt/format.h>

#include <vector>

#include "report/format.h"

namespace dent {
namespace {

constexpr std::size_t kLongestDiff = 40000;  // shown bytes; artifacts/patches has the whole diff

std::string_view class_of(std::string_view line) {
  if (line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") ||
      line.starts_with("index "))
    return "soft";
  if (line.starts_with("@@")) return "hunk";
  if (line.starts_with("+")) return "added";
  return line.starts_with("-") ? "removed" : "";
}

std::string row(const char* name, const std::string& text) {
  return text.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>", name, escape_html(text));
}

// One step, collapsed until clicked. Its id lets an update of the page keep it open.
std::string entry(const ClimbStep& step) {
  const Proposal& proposal = step.iteration.proposal;
  const std::string gain = step.gain() ? " " + show_ratio(*step.gain()) : "";
  std::string text =
      fmt::format("<details id=\"try-{}\"><summary><span class=\"{}\">{:03} {}{}</span> {}</summary><dl>",
                  step.iteration.iteration,
                  step.kept()    ? "good"
                  : step.outcome ? "unsure"
                                 : "soft",
                  step.iteration.iteration, step.outcome ? step.ending() : "in trial", escape_html(gain),
                  escape_html(proposal.hypothesis.change));
  text += row("bottleneck", proposal.hypothesis.bottleneck);
  text += row("expected", proposal.hypothesis.expected);
  text += row("proposed by", proposal.proposer);
  text += row("ended", step.why());
  if (step.outcome) text += row("commit", step.outcome->commit);
  text += row("speed then", step.outcome ? show_factor(step.speedup) : "");
  text += "</dl>";
  if (!step.diff.empty()) text += diff_markup(step.diff);
  return text + "</details>\n";
}

}  // namespace

std::string diff_markup(std::string_view diff) {
  std::string text = "<pre class=\"diff\">";
  const std::string_view shown = diff.substr(0, kLongestDiff);
  for (std::size_t at = 0; at < shown.size();) {
    const std::size_t end = std::min(shown.find('\n', at), shown.size());
    const std::string_view line = shown.substr(at, end - at), css = class_of(line);
    text +=
        css.empty() ? escape_html(line) : fmt::format("<span class=\"{}\">{}</span>", css, escape_html(line));
    text += '\n';
    at = end + 1;
  }
  if (shown.size() < diff.size()) text += fmt::format("... {} bytes more\n", diff.size() - shown.size());
  return text + "</pre>";
}

std::string proposal_tree(const ClimbView& climb) {
  if (climb.steps.empty()) return {};
  // A list of kept changes, beginning with the start; each holds the changes that were dropped while it was
  // the incumbent.
  std::string text = "<ol class=\"tree\">\n<li><span class=\"soft\">the start</span>\n";
  std::string dropped;
  const auto close = [&] {
    if (!dropped.empty()) text += "<ul>\n" + dropped + "</ul>\n";
    dropped.clear();
    text += "</li>\n";
  };
  for (const ClimbStep& step : climb.steps) {
    if (!step.kept()) {
      dropped += "<li>" + entry(step) + "</li>\n";
      continue;
    }
    close();
    text += "<li>" + entry(step);
  }
  close();
  return text + "</ol>\n";
}

}  // namespace dent
