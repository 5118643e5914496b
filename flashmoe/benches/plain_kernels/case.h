// SPDX-License-Identifier: MIT
// A plain kernel at one size: how it is launched, and what `dent predict kernel` is told of it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

namespace plain {

// The memory of one call. Calls in a row get sets of their own, so that none finds its inputs in a cache.
struct Set {
  const void* a;
  const void* b;
  void* out;
  const float* floats() const { return static_cast<const float*>(a); }
  const float* more_floats() const { return static_cast<const float*>(b); }
  const int* indices() const { return static_cast<const int*>(b); }
  float* result() const { return static_cast<float*>(out); }
};

enum class Values { floats, halves };

struct Memory {
  std::size_t a = 0, b = 0, out = 0;  // bytes of a set
  Values values = Values::floats;     // of a, and of b
  int indices_below = 0;              // b holds random indices below this; 0: values
};

// Of the whole launch, counted by hand from the source.
struct Work {
  double bytes = 0;  // from and to memory: each input once, each output once; scattered ones 64 at a time
  double l2_bytes =
      0;  // between SMs and L2: repeated reads too, in sectors; written in part, they count twice
  // Loaded and stored by threads, in caches, shared memory or beyond: four for a float of each lane, and for
  // a vector that all lanes share; four for each line that a lane has to itself.
  double l1_bytes = 0;
  double flops = 0;         // fp32; a multiply-add counts two
  double matrix_flops = 0;  // 16-bit, on tensor cores
  double exps = 0;          // exponentials, reciprocals, roots
  double trips = 1;         // times that a thread waits for memory, one after the other
  double barriers = 0;      // that a CTA waits at, one after the other
};

struct Case {
  std::string kernel, size;
  const void* function;
  dim3 grid, block;
  Memory memory;
  Work work;
  std::function<void(const Set&, cudaStream_t)> launch;
};
using Cases = std::vector<Case>;

// `arguments` makes of a Set the tuple that the kernel is called with.
template <class... Parameters, class Arguments>
Case make(std::string kernel, std::string size, void (*function)(Parameters...), dim3 grid, dim3 block,
          Memory memory, Work work, Arguments arguments) {
  const auto launch = [=](const Set& set, cudaStream_t stream) {
    std::apply([&](auto... values) { function<<<grid, block, 0, stream>>>(values...); }, arguments(set));
  };
  return {std::move(kernel),
          std::move(size),
          reinterpret_cast<const void*>(function),
          grid,
          block,
          memory,
          work,
          launch};
}

constexpr int64_t kMillion = 1 << 20;

inline unsigned ceil_div(int64_t a, int64_t b) { return static_cast<unsigned>((a + b - 1) / b); }

inline std::string megabytes(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, bytes < 10e6 ? "%.2f MB" : "%.1f MB", bytes * 1e-6);
  return text;
}

}  // namespace plain
