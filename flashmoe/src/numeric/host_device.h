// SPDX-License-Identifier: MIT
#pragma once

// Marks plain arithmetic that host code and kernels share.
#ifdef __CUDACC__
#define FLASHMOE_HD __host__ __device__
#else
#define FLASHMOE_HD
#endif
