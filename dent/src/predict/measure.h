// SPDX-License-Identifier: MIT
// Measures this machine's GPU with a small CUDA program that is compiled on demand.
#pragma once

#include "predict/measurement.h"

namespace dent {

// Takes about ten seconds, mostly for compiling. Throws Error without a GPU or a compiler.
Measurement measure_gpu();

}  // namespace dent
