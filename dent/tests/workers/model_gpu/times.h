// SPDX-License-Identifier: MIT
#pragma once

namespace dent::test {

// Simulated time of each operation, in ns.
inline constexpr double kKernelNs = 2000;  // the kernel
inline constexpr double kEventNs = 1500;   // an event
inline constexpr double kLaunchNs = 500;   // launching a kernel
inline constexpr double kGraphNs = 4000;   // launching a graph
inline constexpr double kNodeNs = 250;     // each kernel in a graph

}  // namespace dent::test
