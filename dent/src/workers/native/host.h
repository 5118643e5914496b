// SPDX-License-Identifier: MIT
// Loads one kernel from a shared library and runs it on request.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "workers/native/call_sets.h"
#include "workers/native/setup.h"
#include "workers/serve.h"

namespace dent {

class NativeHost : public Host {
 public:
  protocol::Loaded load(const protocol::Load& request) override;
  void set_problem(const protocol::ProblemMessage& problem) override;
  protocol::SetUp set_up() override;
  void prepare(const std::vector<protocol::Offsets>& calls) override;
  protocol::Timed go(const protocol::Go& request) override;
  protocol::Kept keep(std::size_t call) override;
  protocol::Launches launches() override;

 protected:
  void* library() const { return library_; }  // null for the worker's own empty function
  CallSets& sets();

 private:
  std::unique_ptr<Device> device_;
  void* library_ = nullptr;
  dent_entry entry_ = nullptr;
  std::optional<Setup> setup_;
  std::unique_ptr<CallSets> sets_;
};

}  // namespace dent
