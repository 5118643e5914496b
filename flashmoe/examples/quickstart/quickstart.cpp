// SPDX-License-Identifier: MIT
// The smallest program that uses flashmoe: causal attention on the CPU, and one row of it computed by hand.
#include <flashmoe/attention.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

int main() {
  constexpr int64_t batch = 1, heads = 8, rows = 128, head_dim = 64;
  std::vector<float> q(batch * heads * rows * head_dim), k(q.size()), v(q.size()), out(q.size());
  std::mt19937 random(42);
  std::normal_distribution<float> normal;
  for (auto* tensor : {&q, &k, &v}) {
    for (float& x : *tensor) x = normal(random);
  }

  const auto view = [&](std::vector<float>& data) {
    return flashmoe::Tensor::dense(data.data(), flashmoe::DType::fp32, {batch, heads, rows, head_dim});
  };
  const flashmoe::ForwardArgs args{
      .q = view(q), .k = view(k), .v = view(v), .out = view(out), .mask = flashmoe::Mask::causal};
  std::vector<std::byte> space(flashmoe::forward_workspace_bytes(args) + flashmoe::kWorkspaceAlignment);
  flashmoe::attention_forward(args, flashmoe::Workspace::in(space.data(), space.size()));

  // The second row of the first head sees two keys: its output is a weighted mean of the first two rows of v.
  double score[2] = {0, 0};
  for (int64_t d = 0; d < head_dim; ++d) {
    score[0] += q[head_dim + d] * k[d] / std::sqrt(double{head_dim});
    score[1] += q[head_dim + d] * k[head_dim + d] / std::sqrt(double{head_dim});
  }
  const double weight = 1 / (1 + std::exp(score[1] - score[0]));
  double largest = 0;
  bool right = true;
  for (int64_t d = 0; d < head_dim; ++d) {
    const double expected = weight * v[d] + (1 - weight) * v[head_dim + d];
    const double error = std::abs(out[head_dim + d] - expected);
    right = right && error <= 1e-5;  // false for NaN
    largest = std::max(largest, error);
  }

  std::printf("flashmoe %s\n%s", flashmoe::version().c_str(), flashmoe::explain_forward(args).c_str());
  std::printf("largest error of the row computed by hand: %.1e\n", largest);
  return right ? 0 : 1;
}
