// SPDX-License-Identifier: MIT
// Benches of dent itself, in one program.
#pragma once

namespace dent::bench {

// Each with main's arguments; the first names the bench.
int aa(int argc, char** argv);      // does dent tell the truth about a kernel compared with itself?
int loaded(int argc, char** argv);  // does it on a machine that other programs keep busy?
int search(int argc, char** argv);  // does the loop's search find more than chance?

}  // namespace dent::bench
