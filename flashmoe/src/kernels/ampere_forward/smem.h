// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/ampere_forward/spec.h"
#include "primitives/chunk.h"

namespace flashmoe::kernels::ampere_forward {

// All tiles are swizzled; see Spec. The rows of Q that a warp has read become its rows of O at the end.
template <class Spec>
struct Smem {
  static constexpr int kRowChunks = Spec::chunks;
  alignas(128) gpu::Chunk q[Spec::tuning.tile_q * kRowChunks];
  alignas(128) gpu::Chunk k[Spec::tuning.stages][Spec::tuning.tile_kv * kRowChunks];
  alignas(128) gpu::Chunk v[Spec::tuning.stages][Spec::tuning.tile_kv * kRowChunks];
};

}  // namespace flashmoe::kernels::ampere_forward
