// SPDX-License-Identifier: MIT
// The worker's end of the protocol: reads requests, calls the host and writes replies until the parent closes
// the pipe.
#pragma once

#include <cstddef>
#include <stdexcept>

#include "workers/messages.h"
#include "workers/protocol.h"

namespace dent {

// Thrown if a request fails with a kind of failure other than `refused`.
class Refused : public std::runtime_error {
 public:
  Refused(FailureKind code, const std::string& what) : std::runtime_error(what), code_(code) {}
  FailureKind code() const { return code_; }

 private:
  FailureKind code_;
};

// Runs kernels. Any exception becomes the reply {"error": what()}.
class Host {
 public:
  virtual ~Host() = default;
  virtual protocol::Loaded load(const protocol::Load& request) = 0;
  virtual void set_problem(const protocol::ProblemMessage& problem) = 0;
  // Passes the constant inputs to the kernel; called only if load() announced a setup function.
  virtual protocol::SetUp set_up() { throw std::runtime_error("the kernel has no setup function"); }
  virtual void prepare(const std::vector<protocol::Offsets>& calls) = 0;
  virtual protocol::Timed go(const protocol::Go& request) = 0;
  virtual protocol::Kept keep(std::size_t call) = 0;
  // What the first prepared call would launch on a GPU.
  virtual protocol::Launches launches() {
    throw std::runtime_error("this worker can't find out what a call launches");
  }

  const std::byte* pool = nullptr;  // set by serve() before load()
  std::byte* results = nullptr;
  bool gentle_end = false;  // return from main normally, since a profiler finishes its work there
};

int serve(Host& host);

}  // namespace dent
