// SPDX-License-Identifier: MIT
#pragma once

namespace dent::test {

// What the model of a driver counts for each thing that is done.
inline constexpr double kKernelNs = 2000;  // the work of the kernel
inline constexpr double kEventNs = 1500;   // an event
inline constexpr double kLaunchNs = 500;   // a kernel by itself
inline constexpr double kGraphNs = 4000;   // a graph,
inline constexpr double kNodeNs = 250;     // and each of its kernels

}  // namespace dent::test
