// SPDX-License-Identifier: MIT
#include "device/spec.h"

#include <algorithm>
#include <array>

#include "flashmoe/error.h"

namespace flashmoe::device {
namespace {

constexpr int kKiB = 1024;
constexpr int64_t kMiB = 1024 * 1024;

// Vendor's data sheets and the occupancy tables of the CUDA programming guide.
constexpr std::array kKnown{
    Spec{"A100", 80, 108, 163 * kKiB, 164 * kKiB, 2048, 32, 40 * kMiB, 1935, 312},
    Spec{"L4", 89, 58, 99 * kKiB, 100 * kKiB, 1536, 24, 48 * kMiB, 300, 121},
    Spec{"L40S", 89, 142, 99 * kKiB, 100 * kKiB, 1536, 24, 96 * kMiB, 864, 362},
    Spec{"RTX 4090", 89, 128, 99 * kKiB, 100 * kKiB, 1536, 24, 72 * kMiB, 1008, 165},
    Spec{"H100", 90, 132, 227 * kKiB, 228 * kKiB, 2048, 32, 50 * kMiB, 3350, 989, 8},
    Spec{"H200", 90, 132, 227 * kKiB, 228 * kKiB, 2048, 32, 60 * kMiB, 4800, 989, 8},
};

constexpr int kReservedSmem = 1 * kKiB;  // per block, taken by the system
constexpr int kRegisterUnit = 8;         // registers per thread are handed out in steps of this

}  // namespace

std::span<const Spec> known() { return kKnown; }

const Spec& find(std::string_view name) {
  const auto* spec =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Spec& s) { return s.name == name; });
  if (spec != kKnown.end()) return *spec;
  std::string names;
  for (const Spec& s : kKnown) names += (names.empty() ? "" : ", ") + std::string(s.name);
  throw Error(ErrorCode::invalid_argument,
              "device: no GPU called \"" + std::string(name) + "\" is known; known are " + names);
}

int blocks_per_sm(const Spec& spec, int threads, int registers_per_thread, int smem_bytes) {
  const int registers = (registers_per_thread + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit * threads;
  int blocks = std::min(spec.blocks_per_sm, spec.threads_per_sm / threads);
  if (registers > 0) blocks = std::min(blocks, Spec::registers_per_sm / registers);
  return std::min(blocks, spec.smem_per_sm / (smem_bytes + kReservedSmem));
}

}  // namespace flashmoe::device
