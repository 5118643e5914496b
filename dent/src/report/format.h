// SPDX-License-Identifier: MIT
// Formats numbers for people.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "measure/ratio.h"
#include "records/comparison.h"
#include "records/correctness.h"
#include "records/uptime.h"

namespace dent {

std::string show_ns(double ns);              // "743 ns", "12.4 us", "8.29 ms", "1.20 s"
std::string show_seconds(double seconds);    // "0.42 s", "12.0 s", "3 min 20 s"
std::string show_factor(double ratio);       // "1.04x", "0.0123x"
std::string show_ratio(const Ratio& ratio);  // "1.04x (1.02 .. 1.06)"
std::string show_bytes(double bytes);        // "40.0 KiB"
std::string show_number(double value);       // "0.0123", "1.50e-07"
std::string show_first_bad(
    const record::Correctness& correctness);  // "out[2, 7]: 0.31 instead of 0.02", or ""
std::string show_uptime(const record::Uptime& uptime);

std::string escape_html(std::string_view text);
std::string escape_markdown_cell(std::string_view text);  // one line, "|" escaped

// "decode 94, prefill 6"; "" if all shapes have equal weights.
std::string show_weights(std::span<const record::Comparison> shapes);

}  // namespace dent
