// SPDX-License-Identifier: MIT
// Messages of JSON-RPC over stdin and stdout, one a line. From its construction on, stdout belongs to the
// protocol alone: whatever else this program prints there goes to stderr.
#pragma once

#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "system/file_descriptor.h"

namespace dent::mcp {

class Wire {
 public:
  Wire();

  // The next line; nothing when the other side has closed. A line beyond the limit is cut, and so is no JSON.
  std::optional<std::string> receive();

  // Whole and in one piece, whoever else is sending. What nobody reads any more is dropped.
  void send(const nlohmann::json& message);

 private:
  FileDescriptor out_;
  std::string buffer_;
  std::mutex sending_;
};

}  // namespace dent::mcp
