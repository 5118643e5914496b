// SPDX-License-Identifier: MIT
// Clusters (sm_90): blocks that run at the same time and reach into each other's shared memory. Kernels that
// use them say so through LaunchShape::cluster.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/cluster.h"
#else
#include "primitives/ptx/cluster.h"
#endif
