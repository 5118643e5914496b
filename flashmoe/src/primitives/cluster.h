// SPDX-License-Identifier: MIT
// Clusters (sm_90): blocks that run at the same time and can access each other's shared memory. A kernel that
// needs one is launched with LaunchShape::cluster > 1.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/cluster.h"
#else
#include "primitives/ptx/cluster.h"
#endif
