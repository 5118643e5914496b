// SPDX-License-Identifier: MIT
#include "support/deciding_key.h"

#include <cmath>
#include <functional>
#include <sstream>

namespace flashmoe::test {
namespace {

using Element = std::function<void(int64_t b, int64_t h, int64_t s, int64_t d, std::size_t index)>;

void for_each_output(const Problem& problem, const Element& visit) {
  const ForwardProblem& p = problem.problem;
  std::size_t index = 0;
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t h = 0; h < p.q_heads; ++h)
      for (int64_t s = 0; s < p.q_rows; ++s)
        for (int64_t d = 0; d < p.head_dim; ++d) visit(b, h, s, d, index++);
}

}  // namespace

void set_deciding_key(const Problem& problem, int64_t key, float value) {
  for (int64_t b = 0; b < problem.problem.batch; ++b)
    for (int64_t h = 0; h < problem.problem.kv_heads; ++h) Problem::set_row(problem.args.k, b, h, key, value);
}

void set_equal_keys(const Problem& problem, float value) {
  for (int64_t key = 0; key < problem.problem.kv_rows; ++key) set_deciding_key(problem, key, value);
}

std::string trouble_with_deciding_key(const Problem& problem, int64_t key) {
  const reference::ForwardResult expected = problem.oracle();
  if (std::string wrong = problem.disagreement(expected); !wrong.empty()) return wrong;
  std::ostringstream text;
  for_each_output(problem, [&](int64_t b, int64_t h, int64_t s, int64_t d, std::size_t index) {
    const float value = Problem::get(problem.args.v, b, h / problem.problem.group(), key, d);
    const bool decides =
        expected.weight_error[index] < 1e-12 && std::abs(expected.out[index] - value) < 1e-12;
    if (decides && problem.out(b, h, s, d) != value && text.str().empty()) {
      text << "out[" << b << ", " << h << ", " << s << ", " << d << "] is " << problem.out(b, h, s, d)
           << ", and the only key with weight has the value " << value;
    }
  });
  return text.str();
}

std::string trouble_with_equal_keys(const Problem& problem) {
  const reference::ForwardResult expected = problem.oracle();
  const DType dtype = problem.problem.dtype;
  const double unit = dtype == DType::bf16 ? 0x1p-8 : dtype == DType::fp16 ? 0x1p-11 : 0x1p-21;
  std::ostringstream text;
  for_each_output(problem, [&](int64_t b, int64_t h, int64_t s, int64_t d, std::size_t index) {
    const double bound = 2 * unit * (std::abs(expected.out[index]) + 0.1);
    const double error = std::abs(problem.out(b, h, s, d) - expected.out[index]);
    if (!(error <= bound) && text.str().empty()) {
      text << "out[" << b << ", " << h << ", " << s << ", " << d << "] is " << problem.out(b, h, s, d)
           << ", and the mean of the values " << expected.out[index];
    }
  });
  return text.str();
}

}  // namespace flashmoe::test
