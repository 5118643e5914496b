// SPDX-License-Identifier: MIT
// profile_attention: launches our own kernels once each, for a profiler to look at. --list names them in that
// order.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <exception>

#include "gpu/on_gpu.h"

namespace {

using flashmoe::DType;
using flashmoe::Mask;
using flashmoe::dispatch::ForwardKernel;
using flashmoe::test::Shape;

struct Case {
  const char* name;
  ForwardKernel kernel;
  Shape shape;
};

Shape square(int64_t batch, int64_t heads, int64_t rows, int64_t dim, DType dtype, Mask mask = Mask::none) {
  return {.batch = batch,
          .q_heads = heads,
          .kv_heads = heads,
          .q_rows = rows,
          .kv_rows = rows,
          .head_dim = dim,
          .dtype = dtype,
          .mask = mask};
}

const Case kCases[] = {
    {"naive_1_1_128_64", ForwardKernel::naive, square(1, 1, 128, 64, DType::fp16)},
    {"ampere_1_1_128_64", ForwardKernel::ampere_forward, square(1, 1, 128, 64, DType::fp16)},
    {"small_1_1_128_64", ForwardKernel::small_forward, square(1, 1, 128, 64, DType::fp16)},
    {"naive_1_8_1024_64", ForwardKernel::naive, square(1, 8, 1024, 64, DType::fp16)},
    {"ampere_2_16_2048_64", ForwardKernel::ampere_forward, square(2, 16, 2048, 64, DType::fp16)},
    {"hopper_2_16_4096_128", ForwardKernel::hopper_forward, square(2, 16, 4096, 128, DType::bf16)},
    {"hopper_1_16_2048_64_causal", ForwardKernel::hopper_forward,
     square(1, 16, 2048, 64, DType::bf16, Mask::causal)},
    {"decode_1_32_8192_128",
     ForwardKernel::decode_forward,
     {.batch = 1,
      .q_heads = 32,
      .kv_heads = 8,
      .q_rows = 1,
      .kv_rows = 8192,
      .head_dim = 128,
      .dtype = DType::bf16}},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--list") == 0) {
    for (const Case& c : kCases) std::printf("%s\n", c.name);
    return 0;
  }
  for (const Case& c : kCases) {
    if (argc > 1 && std::strcmp(argv[1], c.name) != 0) continue;
    try {
      flashmoe::test::Problem host(c.shape);
      flashmoe::test::GpuProblem problem(host);
      flashmoe::test::check_cuda(cudaProfilerStart(), "cudaProfilerStart");
      problem.launch({.kernel = c.kernel});
      flashmoe::test::check_cuda(cudaProfilerStop(), "cudaProfilerStop");
      flashmoe::test::check_cuda(cudaDeviceSynchronize(), c.name);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", c.name, error.what());
      return 1;
    }
  }
  return 0;
}
