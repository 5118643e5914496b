// SPDX-License-Identifier: MIT
// What kernels that change scores are told beside everything else.
#pragma once

#include <cstdint>

#include "numeric/score_function.h"

namespace flashmoe::kernels {

struct NoScores {};

// What tensor-core kernels are compiled for; in all forms but the first, rows may have sinks too.
//   softcap: S becomes tanh(inner S), and the scale of what follows is the cap
//   slopes: S less slope / scale times the distance
//   scaled: S becomes inner S, for scales of any sign and size, and the scale of what follows is 1
//   bias: the same, and a tensor's value for the pair is added
enum class Change { none, sinks, softcap, slopes, scaled, bias };

struct ScoreParams {
  ScoreFunction function;
  const float* slopes;          // [Hq] or [B, Hq]; null: none
  int64_t slopes_batch_stride;  // floats from one batch entry to the next
  const float* sinks;           // [Hq]; null: none
  int first_position;           // the key that stands where query row 0 does
  float inner = 1;              // by form, as Change has it
  float inverse_scale = 1;      // slopes: 1 / scale
};

}  // namespace flashmoe::kernels
