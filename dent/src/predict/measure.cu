// SPDX-License-Identifier: MIT
// Measures the rates of this machine's first GPU: memory and L2 bandwidth, 16-bit matrix products,
// exponentials and launches. Prints one JSON document. `dent devices --measure` builds and runs it; it needs
// only the CUDA toolkit.
#include <cuda_fp16.h>
#include <mma.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>
#ifdef MEASURE_CUBLAS
#include <cublas_v2.h>
#endif

namespace {

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  std::printf("%s: %s\n", call, cudaGetErrorString(status));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

int attribute(cudaDeviceAttr which) {
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

// Time of one call of `work` in milliseconds: the best of several, so that a busy host has no effect.
template <class Work>
double milliseconds(cudaStream_t stream, int warm_ups, int rounds, Work work) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  for (int i = 0; i < warm_ups; ++i) work();
  std::vector<float> times;
  for (int i = 0; i < rounds; ++i) {
    CHECK(cudaEventRecord(begin, stream));
    work();
    CHECK(cudaEventRecord(end, stream));
    CHECK(cudaEventSynchronize(end));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    times.push_back(ms);
  }
  CHECK(cudaGetLastError());
  std::sort(times.begin(), times.end());
  return times.front();
}

__global__ void read_all(const uint4* data, size_t count, int rounds, unsigned* sink) {
  uint4 sum{0, 0, 0, 0};
  const size_t stride = size_t{gridDim.x} * blockDim.x;
  for (int round = 0; round < rounds; ++round) {
    size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    for (; i + 3 * stride < count; i += 4 * stride) {
      const uint4 a = __ldcg(data + i), b = __ldcg(data + i + stride), c = __ldcg(data + i + 2 * stride),
                  d = __ldcg(data + i + 3 * stride);
      sum.x ^= a.x ^ b.y ^ c.z ^ d.w;
      sum.y += a.y + b.z + c.w + d.x;
    }
    for (; i < count; i += stride) sum.z ^= __ldcg(data + i).x;
  }
  if ((sum.x ^ sum.y ^ sum.z) == 0x9e3779b9u) *sink = sum.x;
}

double read_gbs(cudaStream_t stream, size_t bytes, int rounds, int sms) {
  uint4* data = nullptr;
  unsigned* sink = nullptr;
  CHECK(cudaMalloc(&data, bytes));
  CHECK(cudaMalloc(&sink, 4));
  CHECK(cudaMemset(data, 7, bytes));
  const double ms = milliseconds(stream, 2, 7, [&] {
    read_all<<<sms * 8, 256, 0, stream>>>(data, bytes / sizeof(uint4), rounds, sink);
  });
  CHECK(cudaFree(data));
  CHECK(cudaFree(sink));
  return static_cast<double>(bytes) * rounds / ms * 1e-6;
}

// Sixteen independent chains per thread keep the special function units busy.
__global__ void exponentials(float* data, int rounds) {
  float x[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) x[i] = data[threadIdx.x] + static_cast<float>(i);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 16; ++i) x[i] = exp2f(-x[i]);
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum += x[i];
  if (sum == 12345.0F) data[0] = sum;
}

double exps_per_ns(cudaStream_t stream, int sms) {
  constexpr int kRounds = 4000, kThreads = 256;
  float* data = nullptr;
  CHECK(cudaMalloc(&data, kThreads * sizeof(float)));
  CHECK(cudaMemset(data, 0, kThreads * sizeof(float)));
  const int blocks = sms * 4;
  const double ms =
      milliseconds(stream, 1, 5, [&] { exponentials<<<blocks, kThreads, 0, stream>>>(data, kRounds); });
  CHECK(cudaFree(data));
  return 16.0 * kRounds * kThreads * blocks / ms * 1e-6;
}

// Products of tiles in registers. On compute capability 9.0 they don't reach the tensor cores' full rate.
__global__ void tile_products(float* out, int rounds) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[2];
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b[2];
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[4];
  for (int i = 0; i < 2; ++i) {
    wmma::fill_fragment(a[i], __float2half(0.01F * static_cast<float>(threadIdx.x % 7)));
    wmma::fill_fragment(b[i], __float2half(0.01F * static_cast<float>(threadIdx.x % 5)));
  }
  for (auto& tile : c) wmma::fill_fragment(tile, 0.0F);
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int i = 0; i < 4; ++i) wmma::mma_sync(c[i], a[i / 2], b[i % 2], c[i]);
  }
  for (auto& tile : c) {
    if (tile.x[0] == 12345.0F) wmma::store_matrix_sync(out, tile, 16, wmma::mem_row_major);
  }
}

double tile_tflops(cudaStream_t stream, int sms) {
  constexpr int kRounds = 4000, kWarps = 8;
  float* out = nullptr;
  CHECK(cudaMalloc(&out, 1024));
  const int blocks = sms * 2;
  const double ms =
      milliseconds(stream, 1, 5, [&] { tile_products<<<blocks, 32 * kWarps, 0, stream>>>(out, kRounds); });
  CHECK(cudaFree(out));
  return 4.0 * 2 * 16 * 16 * 16 * kRounds * kWarps * blocks / ms * 1e-9;
}

#ifdef MEASURE_CUBLAS
__global__ void fill(half* data, size_t count) {
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
       i += size_t{gridDim.x} * blockDim.x) {
    const unsigned random = static_cast<unsigned>(i) * 2654435761u;
    data[i] = __float2half(static_cast<float>(random >> 16) / 65536.0F - 0.5F);
  }
}

// A large product of random numbers, after a warm-up that reaches the power limit.
double gemm_tflops(cudaStream_t stream) {
  constexpr int kSize = 8192;
  constexpr size_t kCount = size_t{kSize} * kSize;
  half *a = nullptr, *b = nullptr, *c = nullptr;
  for (half** matrix : {&a, &b, &c}) {
    CHECK(cudaMalloc(matrix, kCount * sizeof(half)));
    fill<<<1024, 256, 0, stream>>>(*matrix, kCount);
  }
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 0;
  cublasSetStream(handle, stream);
  const float one = 1, zero = 0;
  bool right = true;
  const double ms = milliseconds(stream, 40, 10, [&] {
    right = right && cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, kSize, kSize, kSize, &one, a, CUDA_R_16F,
                                  kSize, b, CUDA_R_16F, kSize, &zero, c, CUDA_R_16F, kSize,
                                  CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS;
  });
  cublasDestroy(handle);
  for (half* matrix : {a, b, c}) CHECK(cudaFree(matrix));
  return right ? 2.0 * kSize * kSize * kSize / ms * 1e-9 : 0;
}
#endif

__global__ void nothing() {}

double graph_launch_us(cudaStream_t stream) {
  constexpr int kNodes = 200;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kNodes; ++i) nothing<<<1, 32, 0, stream>>>();
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  const double ms = milliseconds(stream, 3, 15, [&] { CHECK(cudaGraphLaunch(ready, stream)); });
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(graph));
  return ms * 1000 / kNodes;
}

double host_launch_us(cudaStream_t stream) {
  constexpr int kLaunches = 2000;
  const auto run = [&] {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kLaunches; ++i) nothing<<<1, 32, 0, stream>>>();
    CHECK(cudaStreamSynchronize(stream));
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() /
           kLaunches;
  };
  run();
  return std::min({run(), run(), run()});
}

}  // namespace

int main() {
  cudaDeviceProp gpu{};
  CHECK(cudaGetDeviceProperties(&gpu, 0));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  const int sms = gpu.multiProcessorCount;
  size_t free_bytes = 0, all_bytes = 0;
  CHECK(cudaMemGetInfo(&free_bytes, &all_bytes));
  // `large` far exceeds the L2 cache; `small` is a quarter of it.
  const size_t large = std::min<size_t>(size_t{2} << 30, free_bytes / 4) & ~size_t{4095};
  const size_t small = static_cast<size_t>(gpu.l2CacheSize / 4) & ~size_t{4095};
  const double launch = graph_launch_us(stream), host = host_launch_us(stream);
  const double memory = read_gbs(stream, large, 1, sms), l2 = read_gbs(stream, small, 64, sms);
  const double exps = exps_per_ns(stream, sms);
  double tflops = tile_tflops(stream, sms);
  const char* how = "16x16x16 tiles in registers";
#ifdef MEASURE_CUBLAS
  if (const double gemm = gemm_tflops(stream); gemm > tflops) {
    tflops = gemm;
    how = "cuBLAS, 8192^3, random numbers";
  }
#endif
  int runtime = 0, driver = 0;
  CHECK(cudaRuntimeGetVersion(&runtime));
  CHECK(cudaDriverGetVersion(&driver));
  std::printf(
      "{\"schema\": 1, \"name\": \"%s\", \"arch\": %d, \"sms\": %d, \"clock_mhz\": %.0f,\n"
      " \"smem_per_block\": %d, \"smem_per_sm\": %d, \"threads_per_sm\": %d, \"blocks_per_sm\": %d,\n"
      " \"l2_bytes\": %d, \"memory_bytes\": %zu, \"runtime\": %d, \"driver\": %d,\n"
      " \"measured\": {\"bandwidth_gbs\": %.1f, \"l2_gbs\": %.1f, \"tflops_16bit\": %.1f, \"gexps\": %.1f,\n"
      "  \"launch_us\": %.3f, \"host_launch_us\": %.3f, \"matrix_by\": \"%s\"}}\n",
      gpu.name, 10 * gpu.major + gpu.minor, sms, attribute(cudaDevAttrClockRate) * 1e-3,
      attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
      attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
      attribute(cudaDevAttrMaxThreadsPerMultiProcessor), attribute(cudaDevAttrMaxBlocksPerMultiprocessor),
      gpu.l2CacheSize, all_bytes, runtime, driver, memory, l2, tflops, exps, launch, host, how);
  return 0;
}
