// SPDX-License-Identifier: MIT
// What the GPU of this machine reaches, measured by a small CUDA program that nvcc builds on the spot.
#pragma once

#include "predict/measurement.h"

namespace dent {

// Takes about ten seconds, most of it nvcc's. Throws Error without a GPU or a compiler.
Measurement measure_gpu();

}  // namespace dent
