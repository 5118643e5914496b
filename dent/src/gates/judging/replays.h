// SPDX-License-Identifier: MIT
// Outputs that were delivered before. A wrong output that is, to the bit, the output of another call was not
// computed.
#pragma once

#include <vector>

#include "gates/judging/oracle.h"

namespace dent {

class Replays {
 public:
  void remember(const CallInputs& inputs, const Delivered& outputs) { calls_.push_back({inputs, outputs}); }

  // Whether any of these outputs has come before, for other inputs. Ask only about wrong outputs: right ones
  // may well be equal, such as the places of the largest elements.
  bool seen(const CallInputs& inputs, const Delivered& outputs) const {
    for (const Call& call : calls_) {
      if (call.inputs == inputs) continue;
      for (std::size_t i = 0; i < outputs.size() && i < call.outputs.size(); ++i) {
        if (call.outputs[i] == outputs[i]) return true;
      }
    }
    return false;
  }

 private:
  struct Call {
    CallInputs inputs;
    Delivered outputs;
  };
  std::vector<Call> calls_;
};

}  // namespace dent
