// SPDX-License-Identifier: MIT
// Who is told what happens while a session runs: a terminal, a program that follows it, nobody.
#pragma once

#include <string>
#include <vector>

#include "gates/result.h"
#include "session/step.h"

namespace dent {

// One of several pieces of work that are done at the same time.
struct Running {
  std::string what;      // "003 search TILE=32"
  std::string executor;  // that does it
  std::string where;     // machine and device, as far as they are known
  std::string doing;     // the step that it is at, or the state that it is in
  double seconds = 0;    // since it was sent
  bool operator==(const Running&) const = default;
};

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void plan(const std::vector<Step>&, std::size_t /*done_already*/) {}
  virtual void begin(const Step&, std::size_t /*number*/, std::size_t /*of*/) {}
  virtual void begin_part(const Step&) {}  // a step without a line of its own
  virtual void progress(double /*share*/, const std::string& /*doing*/) {}
  virtual void note(const std::string& /*text*/) {}
  virtual void end(const Step&, const GateResult&, double /*seconds*/) {}
  // What runs now; from a thread of its own.
  virtual void running(const std::vector<Running>&) {}
};

}  // namespace dent
