// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "commits/track.h"
#include "report/format.h"
#include "report/html_page.h"
#include "report/pictures/svg.h"
#include "report/tone.h"

namespace dent {
namespace {

constexpr Frame kTrack{.width = 720, .height = 260, .left = 60, .right = 16, .top = 24, .bottom = 44};

using RatioOf = std::function<std::optional<Ratio>(const TrackedCommit&)>;

std::string short_name(const TrackedCommit& commit) { return commit.commit.substr(0, 9); }

const ChangePoint* change_at(std::span<const ChangePoint> changes, std::size_t commit) {
  const auto found =
      std::find_if(changes.begin(), changes.end(), [&](const ChangePoint& c) { return c.at == commit; });
  return found == changes.end() ? nullptr : &*found;
}

std::string_view class_of(SpeedVerdict verdict) {
  return verdict == SpeedVerdict::faster ? "faster" : "slower";
}

// Draws a diamond with its interval for each commit, and a line at each change of speed. "" if nothing was
// measured.
std::string plot(std::span<const TrackedCommit> commits, std::span<const ChangePoint> changes,
                 const RatioOf& ratio_of, const std::string& label) {
  double low = 1, high = 1;
  bool any = false;
  for (const TrackedCommit& commit : commits) {
    const auto ratio = ratio_of(commit);
    if (!ratio) continue;
    any = true;
    low = std::min(low, ratio->interval.low);
    high = std::max(high, ratio->interval.high);
  }
  if (!any) return {};
  const bool wide = high / low > 4;
  const Axis x(Axis::Scale::linear, 0, std::max(static_cast<double>(commits.size()) - 1, 1.0),
               kTrack.left + 10, kTrack.width - kTrack.right - 10);
  const Axis y(wide ? Axis::Scale::logarithmic : Axis::Scale::linear, low / 1.02, high * 1.02,
               kTrack.height - kTrack.bottom, kTrack.top);
  Svg svg(kTrack.width, kTrack.height, label);
  for (const double tick : y.ticks()) {
    svg.line(kTrack.left, y.at(tick), kTrack.width - kTrack.right, y.at(tick), "grid");
    svg.text(kTrack.left - 6, y.at(tick) + 4, fmt::format("{:g}x", tick), Anchor::end);
  }
  svg.line(kTrack.left, y.at(1), kTrack.width - kTrack.right, y.at(1), "one");
  for (const ChangePoint& change : changes) {
    const double at = x.at(static_cast<double>(change.at));
    svg.line(at, kTrack.top, at, kTrack.height - kTrack.bottom,
             fmt::format("{} median", class_of(change.verdict)));
    svg.text(at, kTrack.top - 8, show_factor(change.change.centre), Anchor::middle);
  }
  const std::size_t every = std::max<std::size_t>(commits.size() / 8, 1);
  for (std::size_t i = 0; i < commits.size(); ++i) {
    const double at = x.at(static_cast<double>(i));
    if (i % every == 0)
      svg.text(at, kTrack.height - kTrack.bottom + 16, commits[i].commit.substr(0, 7), Anchor::middle);
    const auto ratio = ratio_of(commits[i]);
    if (!ratio) {
      svg.text(at, kTrack.height - kTrack.bottom - 4, "x", Anchor::middle);
      continue;
    }
    svg.line(at, y.at(ratio->interval.low), at, y.at(ratio->interval.high), "candidate interval");
    svg.path(fmt::format("M{} {}l4 4l-4 4l-4 -4z", coordinate(at), coordinate(y.at(ratio->centre) - 4)),
             "candidate fill",
             fmt::format("{} {}: {}", short_name(commits[i]), commits[i].subject, show_ratio(*ratio)));
  }
  svg.text(kTrack.width - kTrack.right, kTrack.height - 6, "commits, the newest on the right", Anchor::end);
  return std::move(svg).take();
}

std::string change_words(std::span<const TrackedCommit> commits, const ChangePoint& change) {
  return fmt::format("{} {} than {}", show_ratio(change.change), name(change.verdict),
                     short_name(commits[change.since]));
}

std::vector<std::string> shape_names(std::span<const TrackedCommit> commits) {
  std::vector<std::string> names;
  for (const TrackedCommit& commit : commits) {
    for (const TrackedShape& shape : commit.shapes) {
      if (std::find(names.begin(), names.end(), shape.shape) == names.end()) names.push_back(shape.shape);
    }
  }
  return names;
}

std::optional<Ratio> ratio_on(const TrackedCommit& commit, const std::string& shape) {
  for (const TrackedShape& one : commit.shapes) {
    if (one.shape == shape) return one.ratio;
  }
  return std::nullopt;
}

std::string remark_on(const TrackedCommit& commit) {
  if (!commit.why.empty()) return commit.why;
  if (commit.verdict == Verdict::busy_machine) return "busy machine; the next dent track measures it again";
  return commit.busy ? "on a busy machine" : "";
}

}  // namespace

std::string track_text(std::span<const TrackedCommit> commits, std::span<const ChangePoint> changes) {
  std::string text = fmt::format("{:<10} {:>9}  {:<18} {}\n", "commit", "speed", "95 % interval", "");
  for (std::size_t i = 0; i < commits.size(); ++i) {
    const TrackedCommit& commit = commits[i];
    if (const ChangePoint* change = change_at(changes, i))
      text += fmt::format("  -- {}\n", change_words(commits, *change));
    const std::string remark = remark_on(commit);
    text += fmt::format("{:<10} {:>9}  {:<18} {}{}{}\n", short_name(commit),
                        commit.ratio ? fmt::format("{:.3f}x", commit.ratio->centre) : "-",
                        commit.ratio ? fmt::format("{:.3f} to {:.3f}", commit.ratio->interval.low,
                                                   commit.ratio->interval.high)
                                     : "-",
                        commit.subject, remark.empty() ? "" : ": ", remark);
  }
  return text;
}

std::string track_page(const std::string& project, std::span<const TrackedCommit> commits,
                       std::span<const ChangePoint> changes, double same_within) {
  HtmlPage page(fmt::format("{}: {} commits", project, commits.size()));
  page.markup(fmt::format("<h1>{} · {} commits</h1>\n", escape_html(project), commits.size()));
  page.paragraph(
      changes.empty() ? "No change that could be proved" : fmt::format("{} changes", changes.size()),
      "headline");
  page.section("Speed");
  page.markup(plot(
      commits, changes, [](const TrackedCommit& c) { return c.ratio; }, "speed over commits"));
  page.paragraph(fmt::format("Speed over that of the first commit, measured in turn with it, geometric mean "
                             "over shapes, with 95 % intervals "
                             "that count every commit. Dashed: a commit that differs from the one with which "
                             "its stretch began, by more than "
                             "{:g} %. x: not measured.",
                             100 * same_within),
                 "key");
  if (const auto names = shape_names(commits); names.size() > 1) {
    page.section("Shapes");
    for (const std::string& shape : names) {
      page.subsection(shape);
      page.markup(plot(
          commits, {}, [&shape](const TrackedCommit& c) { return ratio_on(c, shape); },
          "speed of " + shape + " over commits"));
    }
  }
  page.section("Commits");
  page.begin_table({{"commit"}, {"speed", "number"}, {"change"}, {"subject"}, {"when"}, {"remark"}});
  for (std::size_t i = commits.size(); i-- > 0;) {  // newest first
    const TrackedCommit& commit = commits[i];
    const ChangePoint* change = change_at(changes, i);
    page.row({{short_name(commit)},
              {commit.ratio ? show_ratio(*commit.ratio) : "", "number"},
              {change != nullptr ? change_words(commits, *change) : "",
               change != nullptr ? name(tone_of(change->verdict)) : std::string_view()},
              {commit.subject},
              {commit.time.substr(0, 10)},
              {remark_on(commit)}});
  }
  page.end_table();
  return std::move(page).take();
}

}  // namespace dent
