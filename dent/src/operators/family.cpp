// SPDX-License-Identifier: MIT
#include "operators/family.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace dent {
namespace {

constexpr std::string_view kAttentionParts[] = {"attention", "attn", "sdpa"};
constexpr std::string_view kAttentionWords[] = {"mha", "gqa", "mqa", "mla"};
constexpr std::string_view kMatmulParts[] = {"gemm",   "matmul", "matrix_product", "matrix_multiply",
                                             "conv2d", "conv3d"};
constexpr std::string_view kMatmulWords[] = {"mm", "bmm", "linear", "conv", "convolution"};

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> found(1);
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      found.back() += c;
    } else if (!found.back().empty()) {
      found.emplace_back();
    }
  }
  return found;
}

bool goes_by(const std::string& op, std::span<const std::string_view> parts,
             std::span<const std::string_view> words) {
  const auto within = [&op](std::string_view part) { return op.find(part) != std::string::npos; };
  if (std::any_of(parts.begin(), parts.end(), within)) return true;
  for (const std::string& word : words_of(op)) {
    if (std::find(words.begin(), words.end(), word) != words.end()) return true;
  }
  return false;
}

}  // namespace

Family family_of(std::string_view op) {
  std::string plain;
  for (const char c : op) {
    plain += c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (goes_by(plain, kAttentionParts, kAttentionWords)) return Family::attention;
  if (goes_by(plain, kMatmulParts, kMatmulWords)) return Family::matmul;
  return plain.find("softmax") != std::string::npos ? Family::softmax : Family::other;
}

}  // namespace dent
