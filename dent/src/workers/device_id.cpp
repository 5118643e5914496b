// SPDX-License-Identifier: MIT
#include "workers/device_id.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/text.h"
#include "system/capture.h"

namespace dent {

std::string device_id(DeviceKind device) {
  utsname system{};
  const char* node = std::getenv("SLURMD_NODENAME");  // one host may run several Slurm nodes
  const std::string host = node != nullptr ? node : ::uname(&system) == 0 ? system.nodename : "";
  if (device != DeviceKind::cuda) return "cpu " + host;
  // Kernels run on the first visible GPU, which is named by its index or by the beginning of its UUID.
  const char* shown = std::getenv("CUDA_VISIBLE_DEVICES");
  std::string first = shown == nullptr ? "" : shown;
  first = trimmed(first.substr(0, first.find(',')));
  if (first.empty()) first = "0";
  const auto table = capture({"nvidia-smi", "--format=csv,noheader", "--query-gpu=index,uuid"}, 10);
  std::istringstream lines(table.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t comma = std::min(line.find(','), line.size());
    const std::string index = trimmed(line.substr(0, comma));
    const std::string uuid = trimmed(line.substr(std::min(comma + 1, line.size())));
    if (index == first || uuid.starts_with(first)) return uuid;
  }
  return first.starts_with("MIG-") ? first : "gpu " + host;
}

}  // namespace dent
