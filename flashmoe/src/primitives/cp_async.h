// SPDX-License-Identifier: MIT
// Asynchronous copies from global to shared memory: a thread issues them, works on, and waits for them later.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/cp_async.h"
#else
#include "primitives/ptx/cp_async.h"
#endif
