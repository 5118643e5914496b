// SPDX-License-Identifier: MIT
#include "gates/performance/loop_cost.h"

#include <algorithm>
#include <limits>

#include "operators/fill.h"

namespace dent {
namespace {

constexpr std::size_t kShort = 128, kLongCall = 1024;
constexpr int kTries = 12;

// Shrinks all tensors to one element: the loop's cost does not depend on their contents.
Problem without_its_sizes(Problem problem) {
  for (auto* tensors : {&problem.inputs, &problem.outputs}) {
    for (Tensor& tensor : *tensors) tensor.sizes = {1};
  }
  return problem;
}

}  // namespace

double loop_cost_ns(WorkerFactory& workers, const Problem& problem) {
  const double seconds = workers.project().limits.call_seconds;
  const Problem tiny = without_its_sizes(problem);
  const auto worker = workers.start_empty();
  worker->set_problem(message_for(tiny, workers.pool(), kLongCall, false, protocol::kRoom), seconds);
  Random random(1);  // a fixed seed, since nothing here is secret
  // Takes the smallest of several times, since interruptions are not part of the loop's cost.
  const auto uncounted_ns = [&](std::size_t calls) {
    std::vector<protocol::Offsets> offsets;
    for (std::size_t c = 0; c < calls; ++c) offsets.push_back(InputPool::draw(tiny, random));
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kTries; ++i) {
      double passed_ns = 0;
      worker->prepare(offsets, seconds);
      const protocol::Timed timed = worker->go(seconds, passed_ns, {.lot = random.next() | 1U});
      least = std::min(least, passed_ns - timed.ns);
    }
    return least;
  };
  const double few = uncounted_ns(kShort), many = uncounted_ns(kLongCall);
  return std::max(0.0, (many - few) / static_cast<double>(kLongCall - kShort));
}

}  // namespace dent
