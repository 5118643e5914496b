// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "project/project.h"

namespace dent {

// Shapes for the last check of a winner, which no proposer has seen: the manifest's, or drawn between its
// shapes. Only sizes that differ among the shapes are varied, in steps of their greatest common divisor, so
// that whatever holds for all of them (a multiple of 16, a fixed head size) holds for these as well. None
// where nothing can lie between.
std::vector<Shape> held_out_shapes(const Project& project, std::uint64_t seed);

}  // namespace dent
