// SPDX-License-Identifier: MIT
// Progress for people, on stderr: a bar on a terminal, plain lines elsewhere (also on a terminal that can't
// redraw a line), never silent for 30 seconds.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "cli/options.h"
#include "report/tone.h"
#include "session/event_stream.h"
#include "session/observer.h"

namespace dent::cli {

// Whether it is a terminal that obeys escape sequences: TERM=dumb does not.
bool obeys_escapes(int descriptor);
// Colours only on such a terminal, and never where NO_COLOR is set.
bool colours(int descriptor);
// How many characters fit into a line; nothing where it is no terminal.
std::optional<std::size_t> width_of(int descriptor);
// The beginning of a text, at most so many characters of UTF-8.
std::string cut_to(std::string_view text, std::size_t characters);
std::string painted(std::string_view text, std::string_view colour, bool on);
std::string_view colour_of(Tone tone);
template <HasWords AnyVerdict>
std::string_view colour_of(AnyVerdict verdict) {
  return colour_of(tone_of(verdict));
}

class Terminal : public Observer {
 public:
  explicit Terminal(bool quiet);
  ~Terminal() override;
  void plan(const std::vector<Step>& plan, std::size_t done_already) override;
  void begin(const Step& step, std::size_t number, std::size_t of) override;
  void begin_part(const Step& step) override { progress(0, step.name); }
  void progress(double share, const std::string& doing) override;
  void note(const std::string& text) override;
  void end(const Step& step, const GateResult& result, double seconds) override;
  void running(const std::vector<Running>& all) override;

 private:
  using Clock = std::chrono::steady_clock;
  // With mutex_ held:
  void draw();
  void erase();
  void beat();  // draws now and then while a gate is busy with something that tells nothing, a compiler for
                // example

  const bool quiet_;
  const bool live_;  // stderr is a terminal whose lines can be drawn again
  const bool colour_;

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  bool over_ = false;
  bool in_step_ = false;
  bool bar_shown_ = false;
  std::vector<Running> running_;
  std::size_t rows_shown_ = 0;  // of them, above the bar
  Clock::time_point told_;      // in lines
  std::string heading_;
  std::string doing_;
  double share_ = 0;
  double left_s_ = 0;  // time boxes of later steps
  double box_s_ = 0;
  Clock::time_point began_;
  Clock::time_point drawn_;
  std::thread heart_;
};

// A terminal, and a stream of events where one is asked for.
class Audience : public Observers {
 public:
  explicit Audience(const Common& common);

 private:
  Terminal terminal_;
  std::optional<EventStream> events_;
};

}  // namespace dent::cli
