// SPDX-License-Identifier: MIT
// What a running kernel requests from the hardware's schedulers: setmaxnreg moves registers from warpgroups
// that need few to those that need many, and programmatic dependent launch lets consecutive kernels of a
// stream overlap. The latter has no effect before sm_90, nor in a kernel launched without
// LaunchShape::programmatic.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/dependent_launch.h"
#include "primitives/model/setmaxnreg.h"
#else
#include "primitives/ptx/dependent_launch.h"
#include "primitives/ptx/setmaxnreg.h"
#endif
