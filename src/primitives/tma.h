// SPDX-License-Identifier: MIT
// Boxes of a tensor between global and shared memory, moved by the copy engine of the SM. Maps: tensor_map.h.
#pragma once

#include "primitives/tensor_map.h"

#ifdef FLASHMOE_MODEL
#include "primitives/model/tma.h"
#else
#include "primitives/ptx/tma.h"
#endif
