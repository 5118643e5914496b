// SPDX-License-Identifier: MIT
#include "report/comment.h"

#include <fmt/format.h>

#include "report/format.h"
#include "report/rates.h"

namespace dent {
namespace {

std::string speed_table(const SessionView& session) {
  std::string text =
      "| shape | before | after | speed | 95 % interval | verdict | after, as rates |\n"
      "| --- | ---: | ---: | ---: | --- | --- | --- |\n";
  for (const record::Comparison& c : session.comparisons) {
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} |\n", escape_markdown_cell(c.shape), show_ns(c.baseline_ns),
        show_ns(c.candidate_ns), c.ratio ? fmt::format("{:.3f}x", c.ratio->centre) : "-",
        c.ratio ? fmt::format("{:.3f} to {:.3f}", c.ratio->interval.low, c.ratio->interval.high)
                : "too few samples",
        verdict_words(c), show_rates(c));
  }
  return text + "\n";
}

std::string checked(const SessionView& session) {
  std::size_t right = 0;
  for (const record::Correctness& c : session.correctness) right += c.verdict == StepVerdict::pass ? 1 : 0;
  if (session.correctness.empty()) return {};
  return fmt::format("Right on {} of {} shapes. ", right, session.correctness.size());
}

}  // namespace

std::string comment_on(const SessionView& session, const CommentWords& words) {
  const std::string project = escape_markdown_cell(session.session.project);
  std::string text = fmt::format("<!-- dent ci: {} -->\n### {}: {}\n\n{}\n\n", project, project,
                                 name(words.verdict), escape_markdown_cell(session.reason));
  if (!session.comparisons.empty()) text += speed_table(session);
  if (session.comparisons.empty() && !session.next.empty())
    text += fmt::format("Next: {}\n\n", escape_markdown_cell(session.next));
  const std::string device = escape_markdown_cell(session.device());
  text += fmt::format("{}Before: {}. After: {}. {}", checked(session), escape_markdown_cell(words.before),
                      escape_markdown_cell(words.after),
                      session.comparisons.empty()
                          ? fmt::format("On {}.", device)
                          : fmt::format("Measured in turn on {}; above 1x is faster.", device));
  if (!words.link.empty()) text += fmt::format(" [Report]({})", words.link);
  return text + "\n";
}

}  // namespace dent
