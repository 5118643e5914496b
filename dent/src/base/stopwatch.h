// SPDX-License-Identifier: MIT
// Time spent waiting: for the user's code (compiler and kernels), so that the rest of a session's time is
// dent's own; and for the device lock, which is counted separately.
#pragma once

#include <chrono>

namespace dent {

double seconds_since(std::chrono::steady_clock::time_point start);

double waited_for_user_s();
void add_waited_for_user(double seconds);

double waited_for_turn_s();
void add_waited_for_turn(double seconds);

}  // namespace dent
