// SPDX-License-Identifier: MIT
#include "gpu/tanh_kernel.h"
#include "primitives/arithmetic.h"

namespace flashmoe::test {
namespace {

// The largest relative error of gpu::tanh over the floats whose bits are [first, first + 2^16), for each
// block.
__global__ void largest_error(float* errors) {
  __shared__ float shared[256];
  double largest = 0;
  for (unsigned i = threadIdx.x; i < 65536; i += blockDim.x) {
    const float x = __uint_as_float(blockIdx.x * 65536 + i);
    if (!(fabsf(x) >= 0x1p-126F && fabsf(x) <= 3e38F)) continue;
    const double exact = ::tanh(static_cast<double>(x));
    largest = fmax(largest, fabs((gpu::tanh(x) - exact) / exact));
  }
  shared[threadIdx.x] = static_cast<float>(largest);
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (unsigned i = 1; i < blockDim.x; ++i) shared[0] = fmaxf(shared[0], shared[i]);
  errors[blockIdx.x] = shared[0];
}

}  // namespace

void find_largest_errors(float* errors) { largest_error<<<65536, 256>>>(errors); }

}  // namespace flashmoe::test
