// SPDX-License-Identifier: MIT
// Expected outputs of attention.backward: dq, dk and dv for the out and lse that the kernel is given.
#pragma once

#include "reference/backward.h"
#include "workers/oracle/attention.h"

namespace dent {

class BackwardOracle : public AttentionOracle {
 protected:
  void compute() override;

 private:
  void row(std::int64_t head, std::int64_t row);
  void key(std::int64_t kv_head, std::int64_t key);
  void store(const char* output, std::int64_t line, const flashmoe::reference::Gradient& gradient);
};

}  // namespace dent
