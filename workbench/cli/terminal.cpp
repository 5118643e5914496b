// SPDX-License-Identifier: MIT
#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace dent::cli {
namespace {

constexpr auto kSilence = std::chrono::seconds(30);
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr int kBarWidth = 24;

void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace

bool colours(int descriptor) {
  const char* refused = std::getenv("NO_COLOR");
  return isatty(descriptor) == 1 && (refused == nullptr || *refused == '\0');
}

std::string painted(const std::string& text, const char* colour, bool on) {
  return on && *colour != '\0' ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : text;
}

const char* colour_of(const std::string& verdict) {
  if (verdict == "pass" || verdict == "FASTER" || verdict == "SAME" || verdict == "PASS") return "32";
  if (verdict == "skipped" || verdict == "AMBIGUOUS" || verdict == "INTERRUPTED") return "33";
  return "31";
}

Terminal::Terminal(bool quiet) : quiet_(quiet), live_(isatty(2) == 1), colour_(colours(2)) {}

void Terminal::plan(const std::vector<Step>& plan, std::size_t done_already) {
  for (const Step& step : plan) left_s_ += step.kind == StepKind::build ? 10 : step.time_box_s;
  if (quiet_) return;
  say(fmt::format("{} steps, at most about {:.0f} s{}\n", plan.size(), left_s_,
                  done_already > 0 ? fmt::format("; {} were done before", done_already) : ""));
}

void Terminal::begin(const Step& step, std::size_t number, std::size_t of) {
  heading_ = fmt::format("[{:>2}/{}] {:<24}", number, of, step.name);
  box_s_ = step.time_box_s;
  left_s_ = std::max(0.0, left_s_ - step.time_box_s);
  began_ = last_line_ = Clock::now();
  progress(0, "");
}

void Terminal::progress(double share, const std::string& doing) {
  if (quiet_) return;
  const auto now = Clock::now();
  const double elapsed = std::chrono::duration<double>(now - began_).count();
  if (!live_) {
    if (now - last_line_ < kSilence) return;
    last_line_ = now;
    say(fmt::format("{} {:.0f} s of at most {:.0f} s: {}\n", heading_, elapsed, box_s_, doing));
    return;
  }
  if (bar_shown_ && now - last_line_ < kRedraw) return;
  last_line_ = now;
  const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * kBarWidth);
  say(fmt::format("\r\x1b[K{} {}{} {:.0f} s, then at most {:.0f} s  {}", heading_, std::string(static_cast<std::size_t>(full), '#'),
                  std::string(static_cast<std::size_t>(kBarWidth - full), '.'), elapsed, left_s_, doing));
  std::fflush(stderr);
  bar_shown_ = true;
}

void Terminal::clear_bar() {
  if (bar_shown_) say("\r\x1b[K");
  bar_shown_ = false;
}

void Terminal::end(const Step&, const GateResult& result, double seconds) {
  if (quiet_) return;
  clear_bar();
  const std::string verdict(name(result.verdict));
  say(fmt::format("{} {} {:>5.1f} s  {}\n", heading_, painted(fmt::format("{:<7}", verdict), colour_of(verdict), colour_), seconds,
                  result.reason));
}

}  // namespace dent::cli
