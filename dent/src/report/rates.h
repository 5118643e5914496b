// SPDX-License-Identifier: MIT
// How fast a candidate moves bytes and computes, and how near that is to what the device can do.
#pragma once

#include <string>

#include "records/comparison.h"

namespace dent {

// "" where it is not known: the manifest says how many bytes and flops a call takes, and the device's peaks
// give the floor.
std::string show_bandwidth(const record::Comparison& shape);       // "3010 GB/s"
std::string show_flop_rate(const record::Comparison& shape);       // "1.25 TFLOP/s", "40.2 GFLOP/s"
std::string show_share_of_floor(const record::Comparison& shape);  // "63.2 %"

// "3010 GB/s, 1.25 TFLOP/s, 63.2 % of the device's peak"
std::string show_rates(const record::Comparison& shape);

}  // namespace dent
