// SPDX-License-Identifier: MIT
// How long this process has waited for what is the user's: the compiler and the kernels. The rest of a
// session's time is dent's own.
#pragma once

namespace dent {

double waited_for_user_s();
void add_waited_for_user(double seconds);

}  // namespace dent
