// SPDX-License-Identifier: MIT
// Source of two_kernels.cubin, built by nvcc 13.0 with -arch=sm_80 -cubin.
extern "C" __global__ void plain(float* data) { data[threadIdx.x] += 1.0F; }

extern "C" __global__ void with_shared(float* data) {
  __shared__ float tile[1024];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[threadIdx.x ^ 1];
}
