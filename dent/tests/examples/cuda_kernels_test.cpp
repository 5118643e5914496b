// SPDX-License-Identifier: MIT
// The CUDA kernels of the examples that a GPU is not needed for: each against the plainest code, in double,
// at sizes that fill no tile.
#include <gtest/gtest.h>

#include "examples/cuda_on_host.h"

namespace naive {
#include "sgemm/naive.cu"
}
namespace coalesced {
#include "sgemm/coalesced.cu"
}
namespace tiled {
#include "sgemm/tiled.cu"
}
namespace registers {
#include "sgemm/registers.cu"
}
namespace layernorm {
#include "layernorm-cuda/layernorm.cu"
}
#undef __shared__
#define __shared__
namespace flash {
float memory[96 * 65];  // as the manifest's smem says
#include "flash-attention/flash.cu"
}  // namespace flash

namespace {

unsigned tiles(int n, int tile) { return static_cast<unsigned>((n + tile - 1) / tile); }

std::vector<float> drawn(std::size_t count, unsigned seed) {
  std::vector<float> values(count);
  std::uint64_t state = seed;
  for (float& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<float>(static_cast<double>(state >> 40) / 0x1p23 - 1);
  }
  return values;
}

void expect_close(const std::vector<float>& got, const std::vector<double>& expected, double bound) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(static_cast<double>(got[i]) - expected[i]);
    ASSERT_TRUE(error <= bound) << "element " << i << " is " << got[i] << ", expected " << expected[i];
  }
}

struct Product {
  static constexpr int M = 65, N = 33, K = 77;
  std::vector<float> A = drawn(M * K, 1), B = drawn(K * N, 2), C = std::vector<float>(M * N, NAN);

  void expect_right() const {
    std::vector<double> expected(M * N);
    for (int m = 0; m < M; ++m) {
      for (int n = 0; n < N; ++n) {
        for (int k = 0; k < K; ++k) expected[m * N + n] += static_cast<double>(A[m * K + k]) * B[k * N + n];
      }
    }
    expect_close(C, expected, 1e-5);
  }
};

using cuda_on_host::launch;

TEST(SgemmExample, EveryRungIsRight) {
  constexpr int M = Product::M, N = Product::N, K = Product::K;
  const CudaIndex square{32, 32, 1};
  {
    Product p;
    launch({tiles(M, 32), tiles(N, 32), 1}, square,
           [&] { naive::sgemm(p.A.data(), p.B.data(), p.C.data(), M, N, K); });
    p.expect_right();
  }
  {
    Product p;
    launch({tiles(N, 32), tiles(M, 32), 1}, square,
           [&] { coalesced::sgemm(p.A.data(), p.B.data(), p.C.data(), M, N, K); });
    p.expect_right();
  }
  {
    Product p;
    launch({tiles(N, 32), tiles(M, 32), 1}, square,
           [&] { tiled::sgemm(p.A.data(), p.B.data(), p.C.data(), M, N, K); });
    p.expect_right();
  }
  {
    Product p;
    launch({tiles(N, 64), tiles(M, 64), 1}, {256, 1, 1},
           [&] { registers::sgemm<64, 64, 8, 4, 4>(p.A.data(), p.B.data(), p.C.data(), M, N, K); });
    p.expect_right();
  }
  {
    Product p;
    launch({tiles(N, 128), tiles(M, 128), 1}, {256, 1, 1},
           [&] { registers::sgemm<128, 128, 8, 8, 8>(p.A.data(), p.B.data(), p.C.data(), M, N, K); });
    p.expect_right();
  }
}

TEST(LayernormExample, IsRight) {
  constexpr int N = 11, C = 37;
  const auto inp = drawn(N * C, 3), weight = drawn(C, 4), bias = drawn(C, 5);
  std::vector<float> out(N * C, NAN), mean(N, NAN), rstd(N, NAN);
  launch({tiles(N, 8), 1, 1}, {256, 1, 1}, [&] {
    layernorm::layernorm_forward(out.data(), mean.data(), rstd.data(), inp.data(), weight.data(), bias.data(),
                                 N, C);
  });
  std::vector<double> expected_out(N * C), expected_mean(N), expected_rstd(N);
  for (int n = 0; n < N; ++n) {
    double sum = 0, squares = 0;
    for (int c = 0; c < C; ++c) sum += inp[n * C + c];
    expected_mean[n] = sum / C;
    for (int c = 0; c < C; ++c) squares += std::pow(inp[n * C + c] - expected_mean[n], 2);
    expected_rstd[n] = 1 / std::sqrt(squares / C + 1e-5);
    for (int c = 0; c < C; ++c) {
      expected_out[n * C + c] = (inp[n * C + c] - expected_mean[n]) * expected_rstd[n] * weight[c] + bias[c];
    }
  }
  expect_close(out, expected_out, 1e-5);
  expect_close(mean, expected_mean, 1e-6);
  expect_close(rstd, expected_rstd, 1e-5);
}

TEST(FlashAttentionExample, IsRight) {
  constexpr int H = 2, D = 64;
  for (const int S : {1, 31, 33, 77}) {
    const auto count = static_cast<std::size_t>(H * S * D);
    const auto q = drawn(count, 6), k = drawn(count, 7), v = drawn(count, 8);
    std::vector<float> out(count, NAN);
    const float scale = 0.5F;
    launch({tiles(S, 32), H, 1}, {128, 1, 1},
           [&] { flash::flash_attention<D, 32, 32>(q.data(), k.data(), v.data(), out.data(), S, scale); });
    std::vector<double> expected(count);
    for (int h = 0; h < H; ++h) {
      for (int i = 0; i < S; ++i) {
        std::vector<double> weights(static_cast<std::size_t>(S));
        double total = 0;
        for (int j = 0; j < S; ++j) {
          double dot = 0;
          for (int d = 0; d < D; ++d)
            dot += static_cast<double>(q[(h * S + i) * D + d]) * k[(h * S + j) * D + d];
          total += weights[j] = std::exp(scale * dot);
        }
        for (int j = 0; j < S; ++j) {
          for (int d = 0; d < D; ++d)
            expected[(h * S + i) * D + d] += weights[j] / total * v[(h * S + j) * D + d];
        }
      }
    }
    expect_close(out, expected, 1e-5);
  }
}

}  // namespace
