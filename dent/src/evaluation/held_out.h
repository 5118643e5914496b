// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "project/project.h"

namespace dent {

// Shapes for the winner's last check that no proposer has seen: those of the manifest, or random ones between
// its shapes. Only sizes that differ among the shapes are varied, in steps of their greatest common divisor,
// so that properties common to all shapes (a multiple of 16, a fixed head size) are kept. Empty if no size
// can lie between.
std::vector<Shape> held_out_shapes(const Project& project, std::uint64_t seed);

}  // namespace dent
