// SPDX-License-Identifier: MIT
// The clock that measurements go by: how long one has lasted, and when its time box ends. Limits that a
// process has to keep to are no measurement, and have the steady clock.
//
// A source of its own, so that a program can be linked with a clock that stands still between timed calls
// (dent/tests/support/scripted).
#pragma once

namespace dent {

double measuring_clock_s();

}  // namespace dent
