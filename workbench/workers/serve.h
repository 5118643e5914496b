// SPDX-License-Identifier: MIT
// The worker's end of the protocol: reads requests, calls the host, writes replies, until the parent hangs
// up.
#pragma once

#include <cstddef>
#include <stdexcept>

#include "workers/protocol.h"

namespace dent {

// What runs kernels. Any exception becomes the reply {"error": what()}.
class Host {
 public:
  virtual ~Host() = default;
  virtual nlohmann::json load(const nlohmann::json& request) = 0;
  virtual void set_problem(const protocol::ProblemMessage& problem) = 0;
  virtual void prepare(const std::vector<protocol::Offsets>& calls) = 0;
  virtual protocol::Timed go(std::uint64_t lot) = 0;
  virtual protocol::Kept keep(std::size_t call) = 0;
  // What the first prepared call would launch on a GPU.
  virtual nlohmann::json launches() {
    throw std::runtime_error("this worker can't tell what a call launches");
  }

  const std::byte* pool = nullptr;  // set by serve() before load()
  std::byte* results = nullptr;
  bool gentle_end = false;  // leave through main's end: a profiler waits there for its turn
};

int serve(Host& host);

}  // namespace dent
