// SPDX-License-Identifier: MIT
// The worker's end of the protocol: reads requests, calls the host, writes replies, until the parent hangs
// up.
#pragma once

#include <cstddef>
#include <stdexcept>

#include "workers/messages.h"
#include "workers/protocol.h"

namespace dent {

// Why a request can't be answered, when that is more than a refusal.
class Refused : public std::runtime_error {
 public:
  Refused(FailureKind code, const std::string& what) : std::runtime_error(what), code_(code) {}
  FailureKind code() const { return code_; }

 private:
  FailureKind code_;
};

// What runs kernels. Any exception becomes the reply {"error": what()}.
class Host {
 public:
  virtual ~Host() = default;
  virtual protocol::Loaded load(const protocol::Load& request) = 0;
  virtual void set_problem(const protocol::ProblemMessage& problem) = 0;
  // Lets the kernel see the constant inputs; only where load() said that it wants to.
  virtual protocol::SetUp set_up() { throw std::runtime_error("this worker's kernel has no setup"); }
  virtual void prepare(const std::vector<protocol::Offsets>& calls) = 0;
  virtual protocol::Timed go(const protocol::Go& request) = 0;
  virtual protocol::Kept keep(std::size_t call) = 0;
  // What the first prepared call would launch on a GPU.
  virtual protocol::Launches launches() {
    throw std::runtime_error("this worker can't tell what a call launches");
  }

  const std::byte* pool = nullptr;  // set by serve() before load()
  std::byte* results = nullptr;
  bool gentle_end = false;  // leave through main's end: a profiler waits there for its turn
};

int serve(Host& host);

}  // namespace dent
