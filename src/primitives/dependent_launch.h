// SPDX-License-Identifier: MIT
// Programmatic dependent launch: kernels of one stream that overlap at their edges. Does nothing in a kernel
// that was launched without LaunchShape::programmatic, and on GPUs before sm_90.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/dependent_launch.h"
#else
#include "primitives/ptx/dependent_launch.h"
#endif
