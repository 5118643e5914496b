// SPDX-License-Identifier: MIT
#include "device/occupancy.h"

#include <algorithm>
#include <limits>

namespace flashmoe::device {
namespace {

constexpr int kWarp = 32;
constexpr int kMaxThreads = 1024;    // per block
constexpr int kMaxRegisters = 255;   // per thread
constexpr int kRegisterUnit = 256;   // a warp gets registers in steps of this
constexpr int kPartitions = 4;       // of an SM; a warp lies in one, with its registers
constexpr int kReservedSmem = 1024;  // per block, taken by the system
constexpr int kSmemUnit = 128;       // a block gets shared memory in steps of this
constexpr int kNoLimit = std::numeric_limits<int>::max();

int ceil_div(int a, int b) { return (a + b - 1) / b; }
int round_up(int a, int unit) { return ceil_div(a, unit) * unit; }

int by_registers(const Spec& spec, int warps, int registers) {
  if (registers <= 0) return kNoLimit;
  if (registers > kMaxRegisters) return 0;
  const int per_warp = round_up(registers * kWarp, kRegisterUnit);
  // A launch is refused as if a block took the same from every partition.
  if (per_warp * round_up(warps, kPartitions) > spec.registers_per_sm) return 0;
  const int warps_that_fit = spec.registers_per_sm / kPartitions / per_warp * kPartitions;
  return warps_that_fit / warps;
}

int by_smem(const Spec& spec, int smem_bytes) {
  const int taken = round_up(smem_bytes + kReservedSmem, kSmemUnit);
  return taken > spec.smem_per_block + kReservedSmem ? 0 : spec.smem_per_sm / taken;
}

int by_barriers(const Spec& spec, int barriers) {
  if (spec.arch < 90 || barriers <= 0) return kNoLimit;
  const bool small_sm = spec.threads_per_sm < 2048;
  return spec.blocks_per_sm * (small_sm ? 1 : 2) / barriers;
}

}  // namespace

const char* name_of(Limiter limiter) {
  switch (limiter) {
    case Limiter::registers:
      return "registers";
    case Limiter::smem:
      return "shared memory";
    case Limiter::warps:
      return "warps";
    case Limiter::blocks:
      return "blocks";
    case Limiter::barriers:
      return "barriers";
  }
  return "?";
}

Occupancy occupancy(const Spec& spec, const BlockNeeds& needs) {
  Occupancy found;
  const int warps = std::max(1, ceil_div(needs.threads, kWarp));
  const int most_warps = spec.threads_per_sm / kWarp;
  found.by_registers = by_registers(spec, warps, needs.registers);
  found.by_smem = by_smem(spec, needs.smem_bytes);
  found.by_warps = needs.threads > kMaxThreads ? 0 : most_warps / warps;
  found.by_blocks = spec.blocks_per_sm;
  found.by_barriers = by_barriers(spec, needs.barriers);
  found.blocks = kNoLimit;
  const auto limit = [&found](int blocks, Limiter limiter) {
    if (blocks >= found.blocks) return;
    found.blocks = blocks;
    found.limiter = limiter;
  };
  limit(found.by_registers, Limiter::registers);
  limit(found.by_smem, Limiter::smem);
  limit(found.by_warps, Limiter::warps);
  limit(found.by_blocks, Limiter::blocks);
  limit(found.by_barriers, Limiter::barriers);
  found.warps = found.blocks * warps;
  found.share = static_cast<double>(found.warps) / most_warps;
  return found;
}

std::string refusal(const Spec& spec, const BlockNeeds& needs) {
  const auto says = [](int asked, const char* what, int most, const char* who) {
    return std::to_string(asked) + " " + what + "; " + who + " may have " + std::to_string(most);
  };
  if (needs.threads > kMaxThreads) return says(needs.threads, "threads", kMaxThreads, "a block");
  if (needs.registers > kMaxRegisters) return says(needs.registers, "registers", kMaxRegisters, "a thread");
  if (needs.smem_bytes > spec.smem_per_block)
    return says(needs.smem_bytes, "bytes of shared memory", spec.smem_per_block, "a block");
  if (occupancy(spec, needs).blocks > 0) return "";
  int registers = needs.registers;
  while (registers > 0 && occupancy(spec, {needs.threads, registers, needs.smem_bytes}).blocks == 0)
    --registers;
  return says(needs.registers, ("registers in each of " + std::to_string(needs.threads) + " threads").c_str(),
              registers, "they");
}

int blocks_per_sm(const Spec& spec, int threads, int registers_per_thread, int smem_bytes) {
  return occupancy(spec, {threads, registers_per_thread, smem_bytes}).blocks;
}

}  // namespace flashmoe::device
