// SPDX-License-Identifier: MIT
// Kernels that go once through their data: copies, sums of arrays, functions of each element.
#pragma once

#include <cuda_fp16.h>

#include "case.h"

namespace plain {

__global__ void empty() {}

template <class T>
__global__ void copy(const T* in, T* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[i];
}

template <class T>
__global__ void copy_strided_loop(const T* in, T* out, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) out[i] = in[i];
}

__global__ void fill(float4* out, int count, float value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = {value, value, value, value};
}

__global__ void axpy(const float* x, const float* y, float* out, int count, float a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = a * x[i] + y[i];
}

__global__ void triad(const float4* x, const float4* y, float4* out, int count, float a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float4 u = x[i], v = y[i];
  out[i] = {u.x + a * v.x, u.y + a * v.y, u.z + a * v.z, u.w + a * v.w};
}

__global__ void to_half(const float4* in, half2* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float4 v = in[i];
  out[2 * i] = __floats2half2_rn(v.x, v.y);
  out[2 * i + 1] = __floats2half2_rn(v.z, v.w);
}

__device__ float gelu_of(float x) {
  const float u = 1.5957691F * (x + 0.044715F * x * x * x);
  return x * __fdividef(1.0F, 1.0F + __expf(-u));
}

__global__ void gelu(const float4* in, float4* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float4 v = in[i];
  out[i] = {gelu_of(v.x), gelu_of(v.y), gelu_of(v.z), gelu_of(v.w)};
}

__global__ void silu_times(const half2* gate, const half2* up, half2* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float2 g = __half22float2(gate[i]), u = __half22float2(up[i]);
  out[i] = __floats2half2_rn(g.x * u.x * __fdividef(1.0F, 1.0F + __expf(-g.x)),
                             g.y * u.y * __fdividef(1.0F, 1.0F + __expf(-g.y)));
}

constexpr int kLogisticSteps = 256;

// x <- r x (1 - x), again and again: arithmetic that waits for itself.
__global__ void logistic_map(const float4* in, float4* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float4 v = in[i];
#pragma unroll 8
  for (int step = 0; step < kLogisticSteps; ++step) {
    v.x = fmaf(-3.7F * v.x, v.x, 3.7F * v.x);
    v.y = fmaf(-3.7F * v.y, v.y, 3.7F * v.y);
    v.z = fmaf(-3.7F * v.z, v.z, 3.7F * v.z);
    v.w = fmaf(-3.7F * v.w, v.w, 3.7F * v.w);
  }
  out[i] = v;
}

inline void add_streaming(Cases& all) {
  all.push_back(make("empty kernel", "1 CTA", empty, 1, 32, {.out = 256}, {.trips = 0},
                     [](const Set&) { return std::tuple(); }));
  for (const int64_t n : {kMillion / 4, 4 * kMillion, 64 * kMillion}) {  // floats
    const auto bytes = static_cast<std::size_t>(4 * n);
    const double moved = 2.0 * bytes;
    const int count = static_cast<int>(n);
    const std::string size = megabytes(moved);
    const Memory memory{.a = bytes, .out = bytes};
    const Work work{.bytes = moved, .l2_bytes = moved, .l1_bytes = moved};
    all.push_back(make("copy, a float a thread", size, copy<float>, ceil_div(n, 256), 256, memory, work,
                       [=](const Set& s) { return std::tuple(s.floats(), s.result(), count); }));
    const auto vectors = [](int c) {
      return [=](const Set& s) {
        return std::tuple(static_cast<const float4*>(s.a), static_cast<float4*>(s.out), c);
      };
    };
    all.push_back(make("copy, a float4 a thread", size, copy<float4>, ceil_div(n, 1024), 256, memory, work,
                       vectors(count / 4)));
    Work looped = work;
    looped.trips = std::max(1.0, n / 4.0 / (132 * 8 * 256));
    all.push_back(make("copy, float4, 1056 CTAs", size, copy_strided_loop<float4>, 132 * 8, 256, memory,
                       looped, vectors(count / 4)));
    all.push_back(
        make("gelu", size, gelu, ceil_div(n, 1024), 256, memory,
             {.bytes = moved, .l2_bytes = moved, .l1_bytes = moved, .flops = 8.0 * n, .exps = 2.0 * n},
             vectors(count / 4)));
    if (n == kMillion / 4) continue;
    all.push_back(
        make("copy, a byte a thread", megabytes(moved / 4), copy<unsigned char>, ceil_div(n, 256), 256,
             {.a = bytes / 4, .out = bytes / 4},
             {.bytes = moved / 4, .l2_bytes = moved / 4, .l1_bytes = moved},  // a lane's slot is a word
             [=](const Set& s) {
               return std::tuple(static_cast<const unsigned char*>(s.a), static_cast<unsigned char*>(s.out),
                                 count);
             }));
    all.push_back(
        make("fill", megabytes(bytes), fill, ceil_div(n, 1024), 256, {.out = bytes},
             {.bytes = double(bytes), .l2_bytes = double(bytes), .l1_bytes = double(bytes), .trips = 0},
             [=](const Set& s) { return std::tuple(static_cast<float4*>(s.out), count / 4, 1.5F); }));
    const double three = 3.0 * bytes;
    const Memory two_inputs{.a = bytes, .b = bytes, .out = bytes};
    const Work sums{.bytes = three, .l2_bytes = three, .l1_bytes = three, .flops = 2.0 * n};
    all.push_back(
        make("axpy, a float a thread", megabytes(three), axpy, ceil_div(n, 256), 256, two_inputs, sums,
             [=](const Set& s) { return std::tuple(s.floats(), s.more_floats(), s.result(), count, 1.5F); }));
    all.push_back(make("triad, a float4 a thread", megabytes(three), triad, ceil_div(n, 512), 128, two_inputs,
                       sums, [=](const Set& s) {
                         return std::tuple(static_cast<const float4*>(s.a), static_cast<const float4*>(s.b),
                                           static_cast<float4*>(s.out), count / 4, 1.5F);
                       }));
    all.push_back(
        make("fp32 to fp16", megabytes(1.5 * bytes), to_half, ceil_div(n, 1024), 256,
             {.a = bytes, .out = bytes / 2},
             {.bytes = 1.5 * bytes, .l2_bytes = 1.5 * bytes, .l1_bytes = 1.5 * bytes}, [=](const Set& s) {
               return std::tuple(static_cast<const float4*>(s.a), static_cast<half2*>(s.out), count / 4);
             }));
    all.push_back(make("silu(gate) * up, fp16", megabytes(1.5 * bytes), silu_times, ceil_div(n, 512), 256,
                       {.a = bytes / 2, .b = bytes / 2, .out = bytes / 2, .values = Values::halves},
                       {.bytes = 1.5 * bytes,
                        .l2_bytes = 1.5 * bytes,
                        .l1_bytes = 1.5 * bytes,
                        .flops = 4.0 * n,
                        .exps = 2.0 * n},
                       [=](const Set& s) {
                         return std::tuple(static_cast<const half2*>(s.a), static_cast<const half2*>(s.b),
                                           static_cast<half2*>(s.out), count / 2);
                       }));
    all.push_back(
        make("logistic map, 256 steps", size, logistic_map, ceil_div(n, 1024), 256, memory,
             {.bytes = moved, .l2_bytes = moved, .l1_bytes = moved, .flops = 4.0 * kLogisticSteps * n},
             vectors(count / 4)));
    if (n == 4 * kMillion) {
      Work few = work;
      few.trips = n / 4.0 / (66 * 256);
      all.push_back(make("copy, float4, 66 CTAs", size, copy_strided_loop<float4>, 66, 256, memory, few,
                         vectors(count / 4)));
    }
  }
}

}  // namespace plain
