// SPDX-License-Identifier: MIT
// Which mistake a kernel makes, and which of its statements is left out: what generate.py writes into copies
// of the kernels asks here, each time.
#pragma once

#include <set>

namespace flashmoe::test {

// Numbers of one kernel's mistakes begin at 1, those of its statements behind them. A mistake does not change
// while a kernel runs, so a function that asks in a loop may ask once.
[[gnu::const]] bool is_on(int mistake);
bool is_left_out(int statement);

// The statements that runs have come to since these were forgotten.
std::set<int> reached_statements();
void forget_reached_statements();

// Makes a mistake, or leaves a statement out, as long as this lives.
class Switched {
 public:
  explicit Switched(int number);
  ~Switched();
  Switched(const Switched&) = delete;
  Switched& operator=(const Switched&) = delete;
};

}  // namespace flashmoe::test
