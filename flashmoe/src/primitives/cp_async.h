// SPDX-License-Identifier: MIT
// Asynchronous copies from global to shared memory: the thread goes on until it waits for them.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/cp_async.h"
#else
#include "primitives/ptx/cp_async.h"
#endif
