// SPDX-License-Identifier: MIT
// Who tells people what happens while a session runs.
#pragma once

#include "gates/gate.h"
#include "session/plan.h"

namespace dent {

class Display {
 public:
  virtual ~Display() = default;
  virtual void plan(const std::vector<Step>&, std::size_t /*done_already*/) {}
  virtual void begin(const Step&, std::size_t /*number*/, std::size_t /*of*/) {}
  virtual void progress(double /*share*/, const std::string& /*doing*/) {}
  virtual void note(const std::string& /*text*/) {}
  virtual void end(const Step&, const GateResult&, double /*seconds*/) {}
};

}  // namespace dent
