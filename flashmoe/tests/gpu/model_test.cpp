// SPDX-License-Identifier: MIT
// The model of a GPU tells the truth: the same inputs through the same kernels on a real one give the same
// results, within what rounding may do. FLASHMOE_MODEL_RESULTS names the file that record_results made;
// FLASHMOE_AGREEMENT, if set, where a summary goes as JSON.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "device/probe.h"
#include "gpu/on_gpu.h"
#include "kernels/recorded_case.h"

namespace flashmoe::test::model_test {
namespace {

struct Agreement {
  int cases = 0;
  int64_t values = 0;
  int64_t equal = 0;    // bit for bit
  double furthest = 0;  // largest difference, in units of what rounding may do

  // What is wrong with this pair of values, or "".
  std::string add(float model, float gpu, double bound) {
    ++values;
    if (model == gpu) {
      ++equal;
      return "";
    }
    const double apart = std::abs(static_cast<double>(gpu) - static_cast<double>(model)) / bound;
    furthest = std::fmax(furthest, apart);
    if (apart <= 1) return "";
    return "the model has " + std::to_string(model) + ", the GPU " + std::to_string(gpu) +
           ", and rounding explains " + std::to_string(bound);
  }
};

void copy(const Tensor& tensor, const std::vector<char>& bytes) {
  ASSERT_EQ(bytes.size(), bytes_of(tensor));
  std::memcpy(tensor.data, bytes.data(), bytes.size());
}

std::string compare(const RecordedCase& c, const Recording& recording, Agreement& agreement) {
  Problem on_model(c.shape);
  Problem on_gpu(c.shape);
  for (Problem* problem : {&on_model, &on_gpu}) {
    copy(problem->args.q, recording.q);
    copy(problem->args.k, recording.k);
    copy(problem->args.v, recording.v);
  }
  copy(on_model.args.out, recording.out);
  std::memcpy(on_model.args.lse, recording.lse.data(), recording.lse.size());
  GpuProblem gpu(on_gpu);
  gpu.launch(c.choice);
  if (const std::string wrong = gpu.download(); !wrong.empty()) return wrong;

  ++agreement.cases;
  const auto expected = reference::attention_forward(on_gpu.problem, on_gpu.args);
  std::size_t i = 0;
  std::size_t row = 0;
  const Shape& s = c.shape;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.q_heads; ++h) {
      for (int64_t r = 0; r < s.q_rows; ++r, ++row) {
        for (int64_t d = 0; d < s.head_dim; ++d, ++i) {
          const std::string wrong = agreement.add(on_model.out(b, h, r, d), on_gpu.out(b, h, r, d),
                                                  reference::output_bound(on_gpu.problem, expected, i));
          if (!wrong.empty()) return "out " + std::to_string(i) + ": " + wrong;
        }
        const std::string wrong =
            agreement.add(on_model.lse(b, h, r), on_gpu.lse(b, h, r), reference::lse_bound(expected, row));
        if (!wrong.empty()) return "lse " + std::to_string(row) + ": " + wrong;
      }
    }
  }
  return "";
}

void write_summary(const char* path, const std::map<std::string, Agreement>& kernels) {
  cudaDeviceProp gpu{};
  check_cuda(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties");
  std::ofstream file(path);
  file << "{\n  \"gpu\": \"" << gpu.name << "\",\n  \"kernels\": {";
  const char* separator = "\n";
  for (const auto& [kernel, a] : kernels) {
    file << separator << "    \"" << kernel << "\": {\"cases\": " << a.cases << ", \"values\": " << a.values
         << ", \"equal_bit_for_bit\": " << a.equal
         << ", \"largest_difference_in_units_of_the_bound\": " << a.furthest << "}";
    separator = ",\n";
  }
  file << "\n  }\n}\n";
}

TEST(GpuModel, TheModelAgreesWithHardware) {
  SKIP_WITHOUT_GPU();
  const char* path = std::getenv("FLASHMOE_MODEL_RESULTS");
  if (path == nullptr) GTEST_SKIP() << "FLASHMOE_MODEL_RESULTS does not name a file made by record_results";
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << "can't read " << path;
  std::map<std::string, Agreement> kernels;
  Recording recording;
  std::size_t number = 0;
  for (; read(file, recording); ++number) {
    ASSERT_LT(number, recorded_cases().size());
    const RecordedCase& c = recorded_cases()[number];
    ASSERT_EQ(recording.name, describe(c)) << "the file was made by another version";
    const std::string kernel = dispatch::name_of(*c.choice.kernel);
    if (kernel == "hopper_forward" && device::probe().arch != 90) continue;
    EXPECT_EQ(compare(c, recording, kernels[kernel]), "") << recording.name;
  }
  EXPECT_EQ(number, recorded_cases().size());
  for (const auto& [kernel, a] : kernels) {
    std::cout << kernel << ": " << a.cases << " cases, " << a.values << " values, " << a.equal
              << " equal bit for bit, the furthest apart by " << a.furthest << " of what rounding may do\n";
  }
  if (const char* summary = std::getenv("FLASHMOE_AGREEMENT"); summary != nullptr)
    write_summary(summary, kernels);
}

}  // namespace
}  // namespace flashmoe::test::model_test
