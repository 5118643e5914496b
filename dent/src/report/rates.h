// SPDX-License-Identifier: MIT
// A candidate's bandwidth and arithmetic rate, and their share of the device's peaks.
#pragma once

#include <string>

#include "records/comparison.h"

namespace dent {

// "" if not known. The manifest gives a call's bytes and flops; the device's peaks give the least possible
// time.
std::string show_bandwidth(const record::Comparison& shape);       // "3010 GB/s"
std::string show_flop_rate(const record::Comparison& shape);       // "1.25 TFLOP/s", "40.2 GFLOP/s"
std::string show_share_of_floor(const record::Comparison& shape);  // "63.2 %"

// "3010 GB/s, 1.25 TFLOP/s, 63.2 % of the device's peak"
std::string show_rates(const record::Comparison& shape);

}  // namespace dent
