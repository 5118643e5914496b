// SPDX-License-Identifier: MIT
// The smallest C++ program that uses an installed flashmoe: one query, two keys, weights 1/4 and 3/4.
#include <flashmoe/attention.h>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  float q = 1, k[] = {0, 1.09861229F /* ln 3 */}, v[] = {8, 16}, out = 0;
  flashmoe::ForwardArgs args{.q = flashmoe::Tensor::dense(&q, flashmoe::DType::fp32, {1, 1, 1, 1}),
                             .k = flashmoe::Tensor::dense(k, flashmoe::DType::fp32, {1, 1, 2, 1}),
                             .v = flashmoe::Tensor::dense(v, flashmoe::DType::fp32, {1, 1, 2, 1}),
                             .out = flashmoe::Tensor::dense(&out, flashmoe::DType::fp32, {1, 1, 1, 1})};
  std::vector<std::byte> space(flashmoe::forward_workspace_bytes(args) + flashmoe::kWorkspaceAlignment);
  const auto workspace = flashmoe::Workspace::in(space.data(), space.size());
  flashmoe::attention_forward(args, workspace);
  std::printf("flashmoe %s: %g, expected 14\n", flashmoe::version().c_str(), static_cast<double>(out));
  if (!(std::abs(out - 14) < 1e-4F)) return 1;

  args.k.data = nullptr;
  try {
    flashmoe::attention_forward(args, workspace);
  } catch (const flashmoe::Error& error) {  // the library's exception is known by type on this side too
    return error.code() == flashmoe::ErrorCode::invalid_argument ? 0 : 2;
  }
  return 3;
}
