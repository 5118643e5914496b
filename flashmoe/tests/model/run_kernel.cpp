// SPDX-License-Identifier: MIT
// Runs one kernel with one shape and schedule on the model, checks the result, and traces who did what: `make
// model-test KERNEL=...`.
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>

#include "kernels/on_model.h"
#include "model/run_options.h"
#include "primitives/model/trace.h"

namespace flashmoe::test {
namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw std::runtime_error("can't write " + path);
  std::cout << "trace: " << path << "\n";
}

// Writes <path>.txt for reading, and <path>.json for ui.perfetto.dev or chrome://tracing.
void write_trace(std::string path) {
  for (const char* ending : {".json", ".txt"}) {
    if (path.ends_with(ending)) path.resize(path.size() - std::strlen(ending));
  }
  const std::vector<model::TraceEvent> events = model::stop_trace();
  write(path + ".txt", model::as_text(events));
  write(path + ".json", model::as_timeline(events));
}

int run(const RunOptions& options) {
  Problem problem(options.shape);
  std::cout << describe(options.shape) << "\n";
  if (!options.trace.empty()) model::start_trace();
  std::string wrong;
  const std::clock_t begin = std::clock();
  try {
    const auto plan = run_on_model(
        problem,
        {.choice = options.choice, .settings = options.settings, .gpu = options.gpu, .sms = options.sms});
    const double took_ms = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::cout << dispatch::explain(plan, problem.problem, device::find(options.gpu)) << "ran on the model in "
              << took_ms << " ms of CPU time, " << model::statistics().switches << " switches\n";
    wrong = problem.disagreement();
  } catch (const model::Failure& failure) {
    wrong = failure.what();
  }
  if (!options.trace.empty()) write_trace(options.trace);
  std::cout << (wrong.empty() ? "agrees with the oracle" : wrong) << "\n";
  return wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace flashmoe::test

int main(int count, char** words) {
  try {
    const auto options = flashmoe::test::parse_run_options({words + 1, words + count});
    if (!options) {
      std::cout << flashmoe::test::kRunUsage;
      return 0;
    }
    return flashmoe::test::run(*options);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n  try: run_kernel --help\n";
    return 2;
  }
}
