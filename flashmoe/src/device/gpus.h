// SPDX-License-Identifier: MIT
// The table of GPUs: data only. Sources are named in each row; peaks are dense, without sparsity.
#pragma once

#include "device/spec.h"

namespace flashmoe::device {

constexpr int kKiB = 1024;
constexpr int64_t kMiB = 1024 * 1024;

// What an SM of each compute capability holds: the CUDA programming guide's table of technical
// specifications.
struct ArchLimits {
  int arch, smem_per_block, smem_per_sm, threads_per_sm, blocks_per_sm;
};
inline constexpr ArchLimits kArchLimits[] = {
    {80, 163 * kKiB, 164 * kKiB, 2048, 32},  {86, 99 * kKiB, 100 * kKiB, 1536, 16},
    {87, 163 * kKiB, 164 * kKiB, 1536, 16},  {89, 99 * kKiB, 100 * kKiB, 1536, 24},
    {90, 227 * kKiB, 228 * kKiB, 2048, 32},  {100, 227 * kKiB, 228 * kKiB, 2048, 32},
    {103, 227 * kKiB, 228 * kKiB, 2048, 32}, {120, 99 * kKiB, 100 * kKiB, 1536, 24},
};

// Shares of the peak, and rates, that were measured on an H200. Other GPUs are assumed to reach the same
// until `dent devices --measure` has run on one.
// decode_forward, 1.07 GB in 238 us: 4.5 of 4.8 TB/s; a plain read 4.4.
inline constexpr double kBandwidthShare = 0.93;
// dent devices --measure: cuBLAS, 8192^3, 784 of 989 TFLOP/s.
inline constexpr double kTensorShare = 0.79;
// dent devices --measure: 4,066 of 4,182 a nanosecond.
inline constexpr double kExpShare = 0.97;
// hopper_forward, S = 512, causal: 7.9 TB/s through TMA; 5.8 by loads.
inline constexpr double kL2BytesPerClockAndSm = 32;
// 8.6, 8.9, 12.0: public micro-benchmarks, about 5 TB/s on an RTX 4090.
inline constexpr double kSmallL2BytesPerClockAndSm = 16;
// An empty kernel in a graph: 0.50 to 0.57.
inline constexpr double kLaunchUs = 0.55;
inline constexpr double kHostLaunchUs = 4.2;  // launches one by one

struct Row {
  const char* name;
  int arch, sms;
  int64_t l2_mib;
  double gbs, tflops_16bit, tflops_fp32, tflops_tf32, tflops_8bit, boost_mhz, memory_gb;
  int max_cluster;
  const char* sheet;
  // Of SMs, L2 and clock, where the sheet leaves them out.
  Origin chip_origin = Origin::datasheet;
  const char* chip = nullptr;
};

// clang-format off
inline constexpr Row kRows[] = {
    // name       arch  SMs   L2   GB/s  16-bit  fp32  tf32  8-bit  MHz   GB  cluster
    {"L4",          89,  58,  48,   300,  121,  30.3,   60,   242, 2040,  24, 1, "NVIDIA L4 datasheet",
        Origin::third_party, "Nsight Compute on an L4 (SMs); public databases of GPUs (clock, L2)"},
    {"A10",         86,  72,   6,   600,  125,  31.2, 62.5,   250, 1695,  24, 1, "NVIDIA A10 datasheet",
        Origin::third_party, "public databases of GPUs; the sheet's fp32 peak follows from them"},
    {"A100 40GB",   80, 108,  40,  1555,  312,  19.5,  156,   624, 1410,  40, 1, "NVIDIA A100 datasheet (SXM4) and whitepaper"},
    {"A100 80GB",   80, 108,  40,  2039,  312,  19.5,  156,   624, 1410,  80, 1, "NVIDIA A100 datasheet (SXM4) and whitepaper"},
    {"RTX 3090",    86,  82,   6,   936,   71,  35.6, 35.6,   284, 1695,  24, 1, "NVIDIA GA102 whitepaper"},
    {"RTX 4090",    89, 128,  72,  1008,  165,  82.6, 82.6,   330, 2520,  24, 1, "NVIDIA Ada architecture whitepaper"},
    {"L40S",        89, 142,  96,   864,  362,  91.6,  183,   733, 2520,  48, 1, "NVIDIA L40S datasheet"},
    {"H100 PCIe",   90, 114,  50,  2039,  756,  51.2,  378,  1513, 1755,  80, 8, "NVIDIA H100 datasheet (PCIe) and whitepaper"},
    {"H100 SXM",    90, 132,  50,  3350,  989,  66.9,  495,  1979, 1980,  80, 8, "NVIDIA H100 datasheet (SXM5) and whitepaper"},
    {"H200",        90, 132,  60,  4800,  989,  66.9,  495,  1979, 1980, 141, 8, "NVIDIA H200 datasheet",
        Origin::measured, "the driver, on an H200"},
    {"B200",       100, 148, 126,  7700, 2250,  75.0, 1100,  4500, 1965, 180, 1, "NVIDIA HGX B200 datasheet",
        Origin::third_party, "drivers' answers on a B200, as published; L2 also in NVIDIA's Blackwell tuning guide"},
};
// clang-format on

}  // namespace flashmoe::device
