// SPDX-License-Identifier: MIT
// The smallest program that uses the library, and proves it on this machine: attention computed, then
// compared with the float64 oracle, element by element.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "flashmoe/attention.h"
#include "reference/attention.h"

int main() {
  constexpr int64_t batch = 1, heads = 8, rows = 128, head_dim = 64;
  const std::array<int64_t, 4> shape{batch, heads, rows, head_dim};
  const std::size_t elements = batch * heads * rows * head_dim;

  std::mt19937 random(42);
  std::normal_distribution<float> normal;
  std::vector<float> q(elements), k(elements), v(elements), out(elements), lse(batch * heads * rows);
  for (auto* tensor : {&q, &k, &v}) {
    for (float& x : *tensor) x = normal(random);
  }

  using flashmoe::DType, flashmoe::Tensor;
  const flashmoe::ForwardArgs args{.q = Tensor::dense(q.data(), DType::fp32, shape),
                                   .k = Tensor::dense(k.data(), DType::fp32, shape),
                                   .v = Tensor::dense(v.data(), DType::fp32, shape),
                                   .out = Tensor::dense(out.data(), DType::fp32, shape),
                                   .lse = lse.data(),
                                   .mask = flashmoe::Mask::causal};
  std::vector<std::byte> space(flashmoe::forward_workspace_bytes(args) + flashmoe::kWorkspaceAlignment);
  const auto workspace = flashmoe::Workspace::in(space.data(), space.size());

  flashmoe::attention_forward(args, workspace);  // the first call also starts the threads
  const auto start = std::chrono::steady_clock::now();
  flashmoe::attention_forward(args, workspace);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;

  const flashmoe::ForwardProblem problem{.batch = batch,
                                         .q_heads = heads,
                                         .kv_heads = heads,
                                         .q_rows = rows,
                                         .kv_rows = rows,
                                         .head_dim = head_dim,
                                         .mask = args.mask,
                                         .scale = 1.0F / std::sqrt(static_cast<float>(head_dim))};
  const auto expected = flashmoe::reference::attention_forward(problem, args);
  double worst = 0;
  bool right = true;
  for (std::size_t i = 0; i < elements; ++i) {
    const double error = std::abs(out[i] - expected.out[i]);
    right = right && error <= flashmoe::reference::output_bound(problem, expected, i);  // false for NaN
    worst = std::max(worst, error);
  }

  std::printf("flashmoe %s\n%s", flashmoe::version().c_str(), flashmoe::explain_forward(args).c_str());
  std::printf("causal attention, B=%ld H=%ld S=%ld D=%ld, fp32: %.0f us\n", static_cast<long>(batch),
              static_cast<long>(heads), static_cast<long>(rows), static_cast<long>(head_dim), took.count());
  std::printf("against float64: largest error %.1e, %s\n", worst,
              right ? "every element within its bound" : "WRONG");
  return right ? 0 : 1;
}
