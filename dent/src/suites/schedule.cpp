// SPDX-License-Identifier: MIT
#include "suites/schedule.h"

#include <algorithm>
#include <utility>

namespace dent {

int threads_of_each(int processors, int projects) { return std::max(1, processors / projects); }

Schedule::Schedule(std::vector<std::string> gpus, std::size_t per_gpu)
    : gpus_(std::move(gpus)), per_gpu_(per_gpu) {
  if (gpus_.empty()) gpus_.emplace_back();
}

void Schedule::add(std::size_t project, DeviceKind device) { waiting_.push_back({project, device}); }

std::optional<std::string> Schedule::free_gpu() const {
  if (!running_.empty() && running_.front().device == DeviceKind::cpu) return std::nullopt;
  const auto busy_with = [this](const std::string& gpu) {
    return static_cast<std::size_t>(std::ranges::count(running_, gpu, &Running::gpu));
  };
  const auto& freest = *std::ranges::min_element(gpus_, {}, busy_with);
  return busy_with(freest) < per_gpu_ ? std::optional(freest) : std::nullopt;
}

std::optional<Placed> Schedule::next() {
  const auto gpu = free_gpu();
  for (auto one = waiting_.begin(); one != waiting_.end(); ++one) {
    const bool fits = one->device == DeviceKind::cuda ? gpu.has_value() : running_.empty();
    if (!fits) continue;
    const Running begun{one->project, one->device, one->device == DeviceKind::cuda ? *gpu : ""};
    waiting_.erase(one);
    running_.push_back(begun);
    return Placed{begun.project, begun.gpu};
  }
  return std::nullopt;
}

void Schedule::ended(std::size_t project) {
  std::erase_if(running_, [&](const Running& one) { return one.project == project; });
}

}  // namespace dent
