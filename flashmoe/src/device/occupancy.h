// SPDX-License-Identifier: MIT
// How many blocks of a kernel an SM holds, exactly as the CUDA driver counts them, and what limits their
// number.
#pragma once

#include <string>

#include "device/spec.h"

namespace flashmoe::device {

// What one block takes.
struct BlockNeeds {
  int threads = 128;
  int registers = 0;   // per thread, as the compiler reports them; 0: not known, no limit
  int smem_bytes = 0;  // static and dynamic together
  int barriers = 1;    // named ones, bar.sync included
};

enum class Limiter { registers, smem, warps, blocks, barriers };

const char* name_of(Limiter limiter);  // "shared memory"

struct Occupancy {
  int blocks = 0;    // on an SM at the same time; 0: a launch fails
  int warps = 0;     // of those blocks
  double share = 0;  // of the warps that an SM can hold
  Limiter limiter = Limiter::blocks;
  // What each resource by itself would allow. The limiter is the smallest; where two are equal, the first.
  int by_registers = 0, by_smem = 0, by_warps = 0, by_blocks = 0, by_barriers = 0;
};

Occupancy occupancy(const Spec& spec, const BlockNeeds& needs);

// Why no SM can hold such a block, with what it may ask for: "2048 threads; a block may have 1024". Empty
// where one can.
std::string refusal(const Spec& spec, const BlockNeeds& needs);

}  // namespace flashmoe::device
