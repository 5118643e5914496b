// SPDX-License-Identifier: MIT
// Progress for people, on stderr: a bar on a terminal, plain lines elsewhere, never silent for 30 seconds.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "session/display.h"

namespace dent::cli {

// Colours only on a terminal, and never where NO_COLOR is set.
bool colours(int descriptor);
std::string painted(const std::string& text, const char* colour, bool on);
const char* colour_of(const std::string& verdict);

class Terminal : public Display {
 public:
  explicit Terminal(bool quiet);
  void plan(const std::vector<Step>& plan, std::size_t done_already) override;
  void begin(const Step& step, std::size_t number, std::size_t of) override;
  void progress(double share, const std::string& doing) override;
  void end(const Step& step, const GateResult& result, double seconds) override;

 private:
  using Clock = std::chrono::steady_clock;
  void clear_bar();

  bool quiet_;
  bool live_;  // stderr is a terminal
  bool colour_;
  bool bar_shown_ = false;
  std::string heading_;
  double left_s_ = 0;  // of the time boxes of later steps
  double box_s_ = 0;
  Clock::time_point began_;
  Clock::time_point last_line_;
};

}  // namespace dent::cli
