// SPDX-License-Identifier: MIT
// Registers from warpgroups that need few to those that need many.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/setmaxnreg.h"
#else
#include "primitives/ptx/setmaxnreg.h"
#endif
