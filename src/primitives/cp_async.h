// SPDX-License-Identifier: MIT
// Copies from global to shared memory that run behind the thread's back until it waits for them.
#pragma once

#ifdef FLASHMOE_MODEL
#include "primitives/model/cp_async.h"
#else
#include "primitives/ptx/cp_async.h"
#endif
