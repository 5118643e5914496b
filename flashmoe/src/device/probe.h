// SPDX-License-Identifier: MIT
#pragma once

#include "device/spec.h"

namespace flashmoe::device {

// The current CUDA device of the calling thread. Only what planning reads is filled in: bandwidth and peak
// stay 0.
Spec probe();

}  // namespace flashmoe::device
