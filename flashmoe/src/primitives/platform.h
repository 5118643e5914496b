// SPDX-License-Identifier: MIT
// Keywords of CUDA C++ that kernel sources use. For the model they expand to nothing, so that a kernel is an
// ordinary function.
#pragma once

#include "primitives/target.h"

#ifdef FLASHMOE_MODEL
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#else
#include <cuda_runtime.h>
#endif
