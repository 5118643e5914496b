// SPDX-License-Identifier: MIT
// Expected outputs of attention.forward: out and lse.
#pragma once

#include "workers/oracle/attention.h"

namespace dent {

class ForwardOracle : public AttentionOracle {
 protected:
  void compute() override;

 private:
  void block(std::int64_t head, std::int64_t first, std::int64_t rows);
};

}  // namespace dent
