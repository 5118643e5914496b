// SPDX-License-Identifier: MIT
// Outputs that were delivered before. A wrong output that is, to the bit, the output of another call was not
// computed.
#pragma once

#include <vector>

#include "gates/judging/oracle.h"

namespace dent {

class Replays {
 public:
  void remember(const protocol::Offsets& offsets, const Delivered& outputs) {
    calls_.push_back({offsets, outputs});
  }

  // Whether any of these outputs has come before, for other inputs. Ask only about wrong outputs: right ones
  // may well be equal, such as the places of the largest elements.
  bool seen(const protocol::Offsets& offsets, const Delivered& outputs) const {
    for (const Call& call : calls_) {
      if (call.offsets == offsets) continue;
      for (std::size_t i = 0; i < outputs.size() && i < call.outputs.size(); ++i) {
        if (call.outputs[i] == outputs[i]) return true;
      }
    }
    return false;
  }

 private:
  struct Call {
    protocol::Offsets offsets;
    Delivered outputs;
  };
  std::vector<Call> calls_;
};

}  // namespace dent
