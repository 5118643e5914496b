// SPDX-License-Identifier: MIT
// record_results FILE: runs the recorded cases on the model, checks them, and writes inputs and results,
// which a GPU can compare: FLASHMOE_MODEL_RESULTS=FILE gpu_test --gtest_filter='GpuModel.*'
#include <fstream>
#include <iostream>

#include "kernels/on_model.h"
#include "kernels/recorded_case.h"

namespace flashmoe::test {
namespace {

std::vector<char> copy(const void* data, std::size_t bytes) {
  return {static_cast<const char*>(data), static_cast<const char*>(data) + bytes};
}

int record(const char* path) {
  std::ofstream file(path, std::ios::binary);
  for (const RecordedCase& c : recorded_cases()) {
    Problem problem(c.shape);
    run_on_model(problem, {.choice = c.choice});
    if (const std::string wrong = problem.disagreement(); !wrong.empty()) {
      std::cerr << "error: " << describe(c) << ": " << wrong << "\n";
      return 1;
    }
    const ForwardArgs& args = problem.args;
    const auto rows = static_cast<std::size_t>(args.q.sizes[0] * args.q.sizes[1] * args.q.sizes[2]);
    write(file, {describe(c), copy(args.q.data, bytes_of(args.q)), copy(args.k.data, bytes_of(args.k)),
                 copy(args.v.data, bytes_of(args.v)), copy(args.out.data, bytes_of(args.out)),
                 copy(args.lse, rows * sizeof(float))});
  }
  if (!file.flush()) {
    std::cerr << "error: can't write " << path << "\n";
    return 1;
  }
  std::cout << recorded_cases().size() << " cases, " << file.tellp() << " bytes: " << path << "\n";
  return 0;
}

}  // namespace
}  // namespace flashmoe::test

int main(int count, char** words) {
  if (count != 2) {
    std::cerr << "usage: record_results FILE\n";
    return 2;
  }
  try {
    return flashmoe::test::record(words[1]);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
}
