// SPDX-License-Identifier: MIT
// dent-oracle: computes expected outputs of attention in float64, and the largest error allowed for each
// element. It speaks the worker's protocol; no code of a candidate ever runs in its process.
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>

#include "workers/oracle/backward.h"
#include "workers/oracle/forward.h"
#include "workers/serve.h"

namespace dent {
namespace {

class OracleHost : public Host {
 public:
  protocol::Loaded load(const protocol::Load& request) override {
    if (request.function == "attention.forward")
      oracle_ = std::make_unique<ForwardOracle>();
    else if (request.function == "attention.backward")
      oracle_ = std::make_unique<BackwardOracle>();
    else
      throw std::runtime_error("no oracle for \"" + request.function + "\"");
    return {protocol::WorkerKind::reference, {}, {}};
  }

  void set_problem(const protocol::ProblemMessage& problem) override { message_ = problem; }

  void prepare(const std::vector<protocol::Offsets>& calls) override { offsets_ = calls.at(0); }

  protocol::Timed go(const protocol::Go&) override {
    const auto start = std::chrono::steady_clock::now();
    values_ = &oracle_->compute(message_, offsets_, pool);
    return {.ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count()};
  }

  protocol::Kept keep(std::size_t) override {
    for (const auto& place : message_.outputs) {
      const auto& values = values_->at(place.tensor.name);
      std::copy(values.begin(), values.end(), reinterpret_cast<double*>(results + place.at));
    }
    return {};
  }

 private:
  std::unique_ptr<AttentionOracle> oracle_;
  protocol::ProblemMessage message_;
  protocol::Offsets offsets_;
  const AttentionOracle::Values* values_ = nullptr;
};

}  // namespace
}  // namespace dent

int main() {
  prctl(PR_SET_DUMPABLE, 0);  // so that candidates can't read expected values
  dent::OracleHost oracle;
  return dent::serve(oracle);
}
