// SPDX-License-Identifier: MIT
#include "base/stopwatch.h"

#include <atomic>

namespace dent {
namespace {

std::atomic<double> waited_s{0}, waited_turn_s{0};

}  // namespace

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double waited_for_user_s() { return waited_s; }
void add_waited_for_user(double seconds) { waited_s += seconds; }

double waited_for_turn_s() { return waited_turn_s; }
void add_waited_for_turn(double seconds) { waited_turn_s += seconds; }

}  // namespace dent
