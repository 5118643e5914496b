// SPDX-License-Identifier: MIT
// Which instruction sets the SIMD code is compiled for. Included before any header of Highway.
#pragma once

#if defined(__aarch64__) && defined(__SANITIZE_ADDRESS__)
// g++ 12 and 13 stop with an internal error on references to vectors of scalable length under
// AddressSanitizer.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#elif defined(__x86_64__)
// A machine without AVX2 gets what the compiler's default allows: not worth two more copies of the kernels.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#elif defined(__aarch64__)
// SVE2 comes in vectors of 128 bits, which have a copy of their own; any other width gets SVE.
#define HWY_DISABLED_TARGETS HWY_SVE2
#endif
