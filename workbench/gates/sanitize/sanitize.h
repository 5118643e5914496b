// SPDX-License-Identifier: MIT
// Does it touch memory that is not its own? Every shape once under AddressSanitizer (C++) or
// compute-sanitizer (CUDA).
#pragma once

#include "gates/gate.h"
#include "gates/workshop.h"

namespace dent {

class SanitizeGate {
 public:
  explicit SanitizeGate(Workshop& workshop) : workshop_(workshop) {}
  GateResult run(std::uint64_t seed, const Progress& progress) {
    return run(workshop_.project().kernel, seed, progress);
  }
  GateResult run(const Kernel& kernel, std::uint64_t seed, const Progress& progress);

 private:
  Workshop& workshop_;
};

}  // namespace dent
