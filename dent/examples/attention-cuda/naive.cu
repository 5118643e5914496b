// SPDX-License-Identifier: MIT
// A baseline without dependencies: out = softmax(q k^T / 8) v with head_dim 64, a thread for each query row.
// It knows nothing of dent; the manifest gives its declaration, and dent writes the entry.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

constexpr int kHeadDim = 64;
constexpr int kThreads = 64;

static __global__ void attend(const __half* q, const __half* k, const __half* v, __half* out, int S) {
  const int row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= S) return;
  const long head = static_cast<long>(blockIdx.y) * S * kHeadDim;
  const __half* query = q + head + row * kHeadDim;
  float O[kHeadDim] = {};
  float m = -INFINITY, l = 0;  // the largest score so far, and the sum of exp(score - m)
  for (int j = 0; j < S; ++j) {
    float dot = 0;
    for (int d = 0; d < kHeadDim; ++d)
      dot += __half2float(query[d]) * __half2float(k[head + j * kHeadDim + d]);
    const float score = dot / 8;
    const float largest = fmaxf(m, score);
    const float correction = expf(m - largest), weight = expf(score - largest);
    l = l * correction + weight;
    for (int d = 0; d < kHeadDim; ++d)
      O[d] = O[d] * correction + weight * __half2float(v[head + j * kHeadDim + d]);
    m = largest;
  }
  for (int d = 0; d < kHeadDim; ++d) out[head + row * kHeadDim + d] = __float2half(O[d] / l);
}

cudaError_t naive_attention(const void* q, const void* k, const void* v, void* out, int B, int H, int S,
                            cudaStream_t stream) {
  attend<<<dim3((S + kThreads - 1) / kThreads, B * H), kThreads, 0, stream>>>(
      static_cast<const __half*>(q), static_cast<const __half*>(k), static_cast<const __half*>(v),
      static_cast<__half*>(out), S);
  return cudaGetLastError();
}
