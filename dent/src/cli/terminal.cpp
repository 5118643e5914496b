// SPDX-License-Identifier: MIT
#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "session/exit_code.h"

namespace dent::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Clock::duration kSilence = std::chrono::seconds(25);
constexpr Clock::duration kRedraw = std::chrono::milliseconds(100);
constexpr std::size_t kWide = 110;         // from here on there is room for a long bar
constexpr std::size_t kNarrow = 80;        // below it there is none for any
constexpr double kUsualBuildSeconds = 10;  // for the estimate; its time box is for the worst case

double usual_seconds(const Step& step) {
  const bool compiles = step.gate != nullptr && step.gate->info().uses == Uses::compiler;
  return compiles ? kUsualBuildSeconds : step.time_box_s;
}

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

std::string row_of(const Running& each) {
  return fmt::format("  {:<28} {:<10} {:<20} {:>5.0f} s  {}", each.what, each.executor, each.where,
                     each.seconds, each.doing);
}

}  // namespace

bool obeys_escapes(int descriptor) {
  const char* kind = std::getenv("TERM");
  return isatty(descriptor) == 1 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

bool colours(int descriptor) {
  const char* refused = std::getenv("NO_COLOR");
  return obeys_escapes(descriptor) && (refused == nullptr || *refused == '\0');
}

std::optional<std::size_t> width_of(int descriptor) {
  winsize size{};
  if (isatty(descriptor) != 1 || ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return std::nullopt;
  return size.ws_col;
}

std::string cut_to(std::string_view text, std::size_t characters) {
  std::size_t bytes = 0;
  for (; bytes < text.size(); ++bytes) {
    const bool continues =
        (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U;  // a character of UTF-8
    if (!continues && characters-- == 0) break;
  }
  return std::string(text.substr(0, bytes));
}

std::string painted(std::string_view text, std::string_view colour, bool on) {
  return on && !colour.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : std::string(text);
}

std::string_view colour_of(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "32";
    case Tone::unsure:
      return "33";
    case Tone::bad:
      break;
  }
  return "31";
}

Terminal::Terminal(bool quiet) : quiet_(quiet), live_(obeys_escapes(2)), colour_(colours(2)) {
  if (!quiet_) heart_ = std::thread([this] { beat(); });
}

Terminal::~Terminal() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (heart_.joinable()) heart_.join();
}

void Terminal::beat() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    changed_.wait_for(lock, std::chrono::seconds(1));
    if (!over_ && in_step_) draw();
  }
}

void Terminal::draw() {
  const auto now = Clock::now();
  if (now - drawn_ < (live_ ? kRedraw : kSilence)) return;
  drawn_ = now;
  const double elapsed = std::chrono::duration<double>(now - began_).count();
  if (!live_) {
    // A time box is for the measurement: starting what is measured comes on top.
    say(elapsed <= box_s_
            ? fmt::format("{} {:.0f} s of at most {:.0f} s: {}\n", heading_, elapsed, box_s_, doing_)
            : fmt::format("{} {:.0f} s, longer than its {:.0f} s: {}\n", heading_, elapsed, box_s_, doing_));
    return;
  }
  // A line that wraps can't be drawn again: it would stay, once for each redraw.
  const std::size_t width = width_of(2).value_or(kNarrow);
  const std::size_t bar = width < kWide ? 8 : 24;
  const double share = std::clamp(share_, 0.0, 1.0);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(bar));
  const std::string line =
      width < kNarrow
          ? fmt::format("{} {:.0f} % {:.0f} s  {}", heading_, 100 * share, elapsed, doing_)
          : fmt::format("{} {}{} {:.0f} s, then at most {:.0f} s  {}", heading_, std::string(full, '#'),
                        std::string(bar - full, '.'), elapsed, left_s_, doing_);
  erase();
  for (const Running& each : running_) say(cut_to(row_of(each), width - 1) + "\n");
  rows_shown_ = running_.size();
  say(cut_to(line, width - 1));
  std::fflush(stderr);
  bar_shown_ = true;
}

void Terminal::erase() {
  if (bar_shown_) say("\r\x1b[K");
  for (; rows_shown_ > 0; --rows_shown_) say("\x1b[A\x1b[K");
  bar_shown_ = false;
}

// On a terminal it is redrawn with the bar; elsewhere a line for what is new, and all of them now and then.
void Terminal::running(const std::vector<Running>& all) {
  const std::lock_guard lock(mutex_);
  const std::vector<Running> before = std::exchange(running_, all);
  if (quiet_ || live_) return;
  const auto known = [&](const Running& each) {
    return std::any_of(before.begin(), before.end(),
                       [&](const Running& old) { return old.what == each.what && old.where == each.where; });
  };
  const bool all_of_them = Clock::now() - told_ > kSilence;
  for (const Running& each : all)
    if (all_of_them || !known(each)) say(row_of(each) + "\n");
  if (all_of_them) told_ = drawn_ = Clock::now();
}

void Terminal::plan(const std::vector<Step>& plan, std::size_t done_already) {
  const std::lock_guard lock(mutex_);
  for (const Step& step : plan) left_s_ += usual_seconds(step);
  if (quiet_) return;
  say(fmt::format("{} steps, at most about {:.0f} s{}\n", plan.size(), left_s_,
                  done_already > 0 ? fmt::format("; {} were done before", done_already) : ""));
}

void Terminal::begin(const Step& step, std::size_t number, std::size_t of) {
  const std::lock_guard lock(mutex_);
  const bool narrow = width_of(2).value_or(kNarrow) < kNarrow;
  heading_ = fmt::format("[{:>2}/{}] {:<{}}", number, of, step.name, narrow ? 0 : 24);
  doing_.clear();
  share_ = 0;
  box_s_ = step.time_box_s;
  left_s_ = std::max(0.0, left_s_ - usual_seconds(step));
  began_ = Clock::now();
  drawn_ = live_ ? Clock::time_point() : began_;
  in_step_ = true;
  if (!quiet_) draw();
}

void Terminal::progress(double share, const std::string& doing) {
  const std::lock_guard lock(mutex_);
  share_ = share;
  doing_ = doing;
  if (!quiet_) draw();
}

void Terminal::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (quiet_) return;
  erase();
  say(text + "\n");
}

void Terminal::end(const Step&, const GateResult& result, double seconds) {
  const std::lock_guard lock(mutex_);
  in_step_ = false;
  if (quiet_) return;
  erase();
  // A question that stays open is no failure of the kernel.
  const Failed* failed = result.failed();
  const bool open = failed != nullptr && tone_of(verdict_of(failed->cause)) == Tone::unsure;
  const std::string_view word = open ? "unclear" : name(result.verdict());
  const std::string_view colour = open ? colour_of(Tone::unsure) : colour_of(result.verdict());
  say(fmt::format("{} {} {:>5.1f} s  {}\n", heading_, painted(fmt::format("{:<7}", word), colour, colour_),
                  seconds, result.reason()));
}

Audience::Audience(const Common& common) : terminal_(common.quiet) {
  add(terminal_);
  if (common.events >= 0) add(events_.emplace(common.events));
}

}  // namespace dent::cli
