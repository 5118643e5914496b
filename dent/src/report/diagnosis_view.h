// SPDX-License-Identifier: MIT
// Text of a diagnosis for reports and the terminal.
#pragma once

#include <optional>
#include <string>

#include "records/diagnosis.h"

namespace dent {

std::string headline(
    const record::Diagnosis& diagnosis);  // "too few CTAs: 2 CTAs on 132 SMs", or why there is no answer
std::string runner_up(const record::Diagnosis& diagnosis);        // "" if there is none
std::string profiled_kernel(const record::Diagnosis& diagnosis);  // "softmax, occupancy limited by registers"
std::string launch_text(const Launch& launch);                    // "softmax: 2 CTAs of 256 threads, 12.5 us"
std::string value_text(const record::TargetRow& row);             // "71.2 %", "not applicable"
std::string met_text(const record::TargetRow& row);               // "yes", "no", "" without a target
std::string evidence_text(
    const record::PatternEvidence& evidence);  // "3 tries, median 1.31x, 1 failed"; "untried here"

// A point in the roofline plot: what the call computed, moved and took, as profiled.
struct ProfiledPoint {
  double flops, bytes, ns;
};
std::optional<ProfiledPoint> profiled_point(const record::Diagnosis& diagnosis);

// A few lines for a terminal.
std::string diagnosis_text(const record::Diagnosis& diagnosis);

}  // namespace dent
