// SPDX-License-Identifier: MIT
// Time that passes. How long this process has waited for what is the user's: the compiler and the kernels;
// the rest of a session's time is dent's own. How long for its turn on a device, which is nobody's time.
#pragma once

#include <chrono>

namespace dent {

double seconds_since(std::chrono::steady_clock::time_point start);

double waited_for_user_s();
void add_waited_for_user(double seconds);

double waited_for_turn_s();
void add_waited_for_turn(double seconds);

}  // namespace dent
