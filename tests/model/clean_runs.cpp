// SPDX-License-Identifier: MIT
// clean_runs [--runs N] [--json FILE]: kernels as they are, over random shapes, schedules and times at which
// asynchronous work takes effect, with every access checked. There must be no complaint: a model that cries
// wolf is soon switched off.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "dispatch/run.h"
#include "flashmoe/error.h"
#include "kernels/hopper_forward/spec.h"
#include "kernels/on_model.h"
#include "kernels/random_case.h"

namespace flashmoe::test {
namespace {

using dispatch::ForwardKernel;

struct Count {
  int runs = 0;
  int alarms = 0;
  double seconds = 0;
};

// The run's schedule, and which kinds of work are late: all sixteen mixes in turn, for every kernel.
OnModel how_to_run(const RandomCase& c, uint64_t number) {
  const auto time = [number](int bit) {
    return (number / 8 * 5 >> bit & 1U) != 0 ? model::CopyTime::late : model::CopyTime::early;
  };
  OnModel how{
      .choice = c.choice,
      .settings = {
          .seed = number / 8 % 11, .copies = time(0), .stores = time(1), .tma = time(2), .wgmma = time(3)}};
  if (number % 3 == 0) how.sms = 1 + static_cast<int>(number % 4);  // blocks that stay walk over many tiles
  return how;
}

// Problems of at most this many products of an element of Q and one of K; naive takes longest for each.
int64_t most_products(ForwardKernel kernel) { return kernel == ForwardKernel::naive ? 500'000 : 4'000'000; }

// Kernels in turn, each with the next random problem that it takes; hopper_forward in all its forms.
RandomCase next_case(uint64_t number, uint64_t& seed) {
  constexpr ForwardKernel kKernels[] = {ForwardKernel::hopper_forward, ForwardKernel::ampere_forward,
                                        ForwardKernel::hopper_forward, ForwardKernel::small_forward,
                                        ForwardKernel::hopper_forward, ForwardKernel::decode_forward,
                                        ForwardKernel::hopper_forward, ForwardKernel::naive};
  const ForwardKernel kernel = kKernels[number % std::size(kKernels)];
  for (;; ++seed) {
    RandomCase c = random_case(seed);
    const Shape& s = c.shape;
    if (s.batch * s.q_heads * s.q_rows * s.kv_rows * s.head_dim > most_products(kernel)) continue;
    c.choice = {.kernel = kernel};
    if (kernel == ForwardKernel::hopper_forward)
      c.choice.tuning = static_cast<int>(seed % kernels::hopper_forward::kNumTunings);
    try {
      Problem problem(s);
      dispatch::plan_forward(problem.problem, dispatch::addressing_of(problem.args), device::find("H200"),
                             c.choice);
      ++seed;
      return c;
    } catch (const Error&) {
      // Not for this kernel.
    }
  }
}

std::map<std::string, Count> run_all(int runs) {
  std::map<std::string, Count> counts;
  uint64_t seed = 5000;
  for (int i = 0; i < runs; ++i) {
    const auto number = static_cast<uint64_t>(i);
    const RandomCase c = next_case(number, seed);
    Problem problem(c.shape);
    std::string wrong;
    const auto begin = std::chrono::steady_clock::now();
    try {
      run_on_model(problem, how_to_run(c, number));
    } catch (const std::exception& failure) {
      wrong = failure.what();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (wrong.empty()) wrong = problem.disagreement();
    Count& count = counts[name_of(*c.choice.kernel)];
    ++count.runs;
    count.seconds += took.count();
    if (wrong.empty()) continue;
    ++count.alarms;
    std::cout << "run " << i << ", " << describe(c) << ": " << wrong << "\n";
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
