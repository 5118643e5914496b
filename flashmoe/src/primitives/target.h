// SPDX-License-Identifier: MIT
// Where kernel sources run: on a GPU (compiled by nvcc), or on the model of one (compiled by the host
// compiler with FLASHMOE_MODEL defined). Whatever exists in both forms lives in an inline namespace named
// after its target, so that one program may hold both.
#pragma once

#include "numeric/host_device.h"

#ifdef FLASHMOE_MODEL
#define FLASHMOE_TARGET on_model
#else
#define FLASHMOE_TARGET on_gpu
#endif
