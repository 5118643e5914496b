// SPDX-License-Identifier: MIT
// Where kernel sources run: on a GPU (compiled by nvcc) or on its model (compiled by the host compiler with
// FLASHMOE_MODEL defined). Code that exists for both lives in an inline namespace named after its target, so
// that one program can hold both.
#pragma once

#include "numeric/host_device.h"

#ifdef FLASHMOE_MODEL
#define FLASHMOE_TARGET on_model
#else
#define FLASHMOE_TARGET on_gpu
#endif
