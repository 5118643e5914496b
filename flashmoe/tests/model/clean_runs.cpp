// SPDX-License-Identifier: MIT
// clean_runs [--runs N] [--json FILE]: runs correct kernels with random shapes, schedules and times at which
// asynchronous work takes effect, checking every access. Nothing may be reported: a model with false alarms
// would be ignored.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <variant>

#include "dispatch/run.h"
#include "dispatch/run_backward.h"
#include "flashmoe/error.h"
#include "kernels/ampere_backward/spec.h"
#include "kernels/backward_on_model.h"
#include "kernels/hopper_forward/spec.h"
#include "kernels/on_model.h"
#include "kernels/random_case.h"

namespace flashmoe::test {
namespace {

using dispatch::BackwardKernel;
using dispatch::ForwardKernel;
using Kernel = std::variant<ForwardKernel, BackwardKernel>;

// Used in turn; kernels with more variants and more waits occur more often.
constexpr Kernel kKernels[] = {ForwardKernel::hopper_forward,   ForwardKernel::ampere_forward,
                               ForwardKernel::hopper_forward,   ForwardKernel::small_forward,
                               ForwardKernel::hopper_forward,   ForwardKernel::decode_forward,
                               ForwardKernel::hopper_forward,   ForwardKernel::naive,
                               BackwardKernel::hopper_backward, BackwardKernel::ampere_backward,
                               BackwardKernel::hopper_backward, BackwardKernel::naive_backward};

struct Count {
  int runs = 0;
  int alarms = 0;
  double seconds = 0;
};

// Result of one run.
struct Outcome {
  std::string problem;
  std::string wrong{};  // "" if nothing was wrong
  double seconds = 0;
};

// The run's schedule and timing: all sixteen mixes of late and early work in turn, for every kernel.
model::Settings settings_of(uint64_t number) {
  const uint64_t round = number / std::size(kKernels);
  const auto time = [round](int bit) {
    return (round * 5 >> bit & 1U) != 0 ? model::CopyTime::late : model::CopyTime::early;
  };
  return {.seed = round % 11, .copies = time(0), .stores = time(1), .tma = time(2), .wgmma = time(3)};
}

int64_t products_of(const Shape& s) { return s.batch * s.q_heads * s.q_rows * s.kv_rows * s.head_dim; }

// Limit on the number of products of an element of Q and one of K; naive kernels take longest per product.
int64_t most_products(ForwardKernel kernel) { return kernel == ForwardKernel::naive ? 500'000 : 4'000'000; }
int64_t most_products(BackwardKernel kernel) {
  return kernel == BackwardKernel::naive_backward ? 200'000 : 2'000'000;
}

template <class Work>
void time(Outcome& outcome, const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    work();
  } catch (const std::exception& failure) {
    outcome.wrong = failure.what();
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Runs the next random problem that the kernel supports; hopper_forward in all its variants.
Outcome run_next(ForwardKernel kernel, uint64_t number, uint64_t& seed) {
  for (;; ++seed) {
    RandomCase c = random_case(seed);
    if (products_of(c.shape) > most_products(kernel)) continue;
    c.choice = {.kernel = kernel};
    if (kernel == ForwardKernel::hopper_forward)
      c.choice.tuning = static_cast<int>(seed % kernels::hopper_forward::kNumTunings);
    Problem problem(c.shape);
    try {
      dispatch::plan_forward(problem.problem, dispatch::addressing_of(problem.args), device::find("H200"),
                             c.choice);
    } catch (const Error&) {
      continue;  // the kernel does not support it
    }
    ++seed;
    OnModel how{.choice = c.choice, .settings = settings_of(number)};
    if (number % 3 == 0)
      how.sms = 1 + static_cast<int>(number % 4);  // few SMs: each block takes several tiles
    Outcome outcome{.problem = describe(c)};
    time(outcome, [&] { run_on_model(problem, how); });
    if (outcome.wrong.empty()) outcome.wrong = problem.disagreement();
    return outcome;
  }
}

// Runs the next random gradient problem that the kernel supports; ampere_backward in all its variants.
Outcome run_next(BackwardKernel kernel, uint64_t number, uint64_t& seed) {
  for (;; ++seed) {
    Shape shape = random_case(seed).shape;
    if (products_of(shape) > most_products(kernel)) continue;
    shape.spread = std::min(shape.spread, 20.0F);  // keeps dS finite in fp16
    const bool deterministic = seed % 2 == 0;
    dispatch::BackwardChoice choice{.kernel = kernel};
    if (kernel == BackwardKernel::ampere_backward)
      choice.tuning = static_cast<int>(seed % kernels::ampere_backward::kNumTunings);
    try {
      const Problem forward(shape);
      dispatch::plan_backward(forward.problem, dispatch::addressing_of(forward.args), device::find("H200"),
                              deterministic, choice);
    } catch (const Error&) {
      continue;  // the kernel does not support it
    }
    BackwardProblem problem(shape, seed % 3 == 0);
    ++seed;
    Outcome outcome{.problem = describe(shape) + " kernel=" + name_of(kernel) +
                               " tuning=" + std::to_string(choice.tuning.value_or(0)) +
                               (deterministic ? " deterministic" : "")};
    time(outcome, [&] { run_backward_on_model(problem, deterministic, settings_of(number), {}, choice); });
    if (outcome.wrong.empty()) outcome.wrong = problem.disagreement();
    return outcome;
  }
}

std::map<std::string, Count> run_all(int runs) {
  std::map<std::string, Count> counts;
  uint64_t seed = 5000;
  for (int i = 0; i < runs; ++i) {
    const auto number = static_cast<uint64_t>(i);
    std::visit(
        [&](auto kernel) {
          const Outcome outcome = run_next(kernel, number, seed);
          Count& count = counts[name_of(kernel)];
          ++count.runs;
          count.seconds += outcome.seconds;
          if (outcome.wrong.empty()) return;
          ++count.alarms;
          std::cout << "run " << i << ", " << outcome.problem << ": " << outcome.wrong << "\n";
        },
        kKernels[number % std::size(kKernels)]);
  }
  return counts;
}

void write_json(const char* path, const std::map<std::string, Count>& kernels, const Count& all,
                double wall) {
  std::ofstream file(path);
  file << "{\n  \"runs\": " << all.runs << ",\n  \"false_alarms\": " << all.alarms
       << ",\n  \"seconds_on_the_model\": " << all.seconds << ",\n  \"seconds_with_the_oracle\": " << wall
       << ",\n  \"order_checked\": true,\n  \"kernels\": {";
  const char* separator = "\n";
  for (const auto& [kernel, count] : kernels) {
    file << separator << "    \"" << kernel << "\": {\"runs\": " << count.runs
         << ", \"false_alarms\": " << count.alarms << ", \"seconds_on_the_model\": " << count.seconds << "}";
    separator = ",\n";
  }
  file << "\n  }\n}\n";
}

}  // namespace
}  // namespace flashmoe::test

int main(int count, char** words) {
  using namespace flashmoe::test;
  int runs = 1000;
  const char* json = nullptr;
  for (int i = 1; i + 1 < count; i += 2) {
    if (std::strcmp(words[i], "--runs") == 0) runs = std::atoi(words[i + 1]);
    if (std::strcmp(words[i], "--json") == 0) json = words[i + 1];
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto kernels = run_all(runs);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  Count all;
  for (const auto& [kernel, one] : kernels) {
    std::cout << kernel << ": " << one.runs << " runs, " << one.alarms << " false alarms, " << one.seconds
              << " s\n";
    all.runs += one.runs;
    all.alarms += one.alarms;
    all.seconds += one.seconds;
  }
  std::cout << all.runs << " runs, " << all.alarms << " false alarms, " << all.seconds << " s on the model, "
            << wall.count() << " s with the oracle\n";
  if (json != nullptr) write_json(json, kernels, all, wall.count());
  return all.alarms == 0 ? 0 : 1;
}
