// SPDX-License-Identifier: MIT
// The worker's end of the protocol: reads requests, calls the host, writes replies, until the parent hangs
// up.
#pragma once

#include <cstddef>

#include "workers/protocol.h"

namespace dent {

// What runs kernels. Any exception becomes the reply {"error": what()}.
class Host {
 public:
  virtual ~Host() = default;
  virtual nlohmann::json load(const nlohmann::json& request) = 0;
  virtual void set_problem(const protocol::ProblemMessage& problem) = 0;
  virtual void prepare(const std::vector<protocol::Offsets>& calls) = 0;
  virtual protocol::Timed go() = 0;
  virtual protocol::Kept keep(std::size_t call) = 0;

  const std::byte* pool = nullptr;  // set by serve() before load()
  std::byte* results = nullptr;
};

int serve(Host& host);

}  // namespace dent
