// SPDX-License-Identifier: MIT
// What attention.forward should give: out and lse.
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
