// SPDX-License-Identifier: MIT
// What a running kernel asks of the hardware's schedulers: registers from warpgroups that need few to those
// that need many (setmaxnreg), and programmatic dependent launch, by which kernels of one stream overlap at
// their edges. The latter does nothing in a kernel that was launched without LaunchShape::programmatic, and
// on GPUs before sm_90.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/dependent_launch.h"
#include "primitives/model/setmaxnreg.h"
#else
#include "primitives/ptx/dependent_launch.h"
#include "primitives/ptx/setmaxnreg.h"
#endif
