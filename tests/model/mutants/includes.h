// SPDX-License-Identifier: MIT
// What all mutants include, before any name is redefined.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "kernels/forward_params.h"
#include "model/mutants/registry.h"
#include "numeric/half.h"
#include "primitives/barrier.h"
#include "primitives/chunk.h"
#include "primitives/convert.h"
#include "primitives/cp_async.h"
#include "primitives/dependent_launch.h"
#include "primitives/halves.h"
#include "primitives/index.h"
#include "primitives/launch.h"
#include "primitives/ldmatrix.h"
#include "primitives/math.h"
#include "primitives/memory.h"
#include "primitives/mma.h"
#include "primitives/shared.h"
#include "primitives/shuffle.h"
