// SPDX-License-Identifier: MIT
// The clock for measurements and their time boxes. Time limits of processes use the steady clock instead.
//
// It has its own source file so that tests can link a clock that stands still between timed calls
// (dent/tests/support/scripted).
#pragma once

namespace dent {

double measuring_clock_s();

}  // namespace dent
