// SPDX-License-Identifier: MIT
// Outputs of earlier calls. A wrong output that equals another call's output bit for bit was copied, not
// computed.
#pragma once

#include <vector>

#include "gates/judging/oracle.h"

namespace dent {

class Replays {
 public:
  void remember(const CallInputs& inputs, const Delivered& outputs) { calls_.push_back({inputs, outputs}); }

  // Whether these outputs equal those of a call with other inputs. Only meaningful for wrong outputs: right
  // ones may be equal by chance, such as the indices of the largest elements.
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
