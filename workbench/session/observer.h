// SPDX-License-Identifier: MIT
// Who is told what happens while a session runs: a terminal, a program that follows it, nobody.
#pragma once

#include "gates/result.h"
#include "session/step.h"

namespace dent {

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void plan(const std::vector<Step>&, std::size_t /*done_already*/) {}
  virtual void begin(const Step&, std::size_t /*number*/, std::size_t /*of*/) {}
  virtual void progress(double /*share*/, const std::string& /*doing*/) {}
  virtual void note(const std::string& /*text*/) {}
  virtual void end(const Step&, const GateResult&, double /*seconds*/) {}
};

}  // namespace dent
