// SPDX-License-Identifier: MIT
// BackwardArgs is public.
#pragma once

#include "flashmoe/attention.h"
