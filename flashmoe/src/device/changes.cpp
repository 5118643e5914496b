// SPDX-License-Identifier: MIT
#include "device/changes.h"

#include <algorithm>

namespace flashmoe::device {
namespace {

Change recut(const Spec& spec, Launch launch, int64_t ctas, const Work& work, std::string what) {
  // A CTA with a part of the work goes to memory so much less often.
  launch.trips *= static_cast<double>(launch.ctas) / static_cast<double>(ctas);
  launch.ctas = ctas;
  launch.items = 0;
  const double expected = predict_plain(spec, launch, work).expected_us;
  return {std::move(what) + " CTAs", ctas, expected};
}

}  // namespace

int parts_to_fill(const Spec& spec, int64_t ctas) {
  int parts = 1;
  while (ctas * parts < spec.sms) parts *= 2;
  return parts;
}

std::vector<Change> changes(const Spec& spec, const Launch& launch, const Work& work) {
  std::vector<Change> found;
  const double now = predict_plain(spec, launch, work).expected_us;
  const int64_t items = launch.items > 0 ? launch.items : launch.ctas;
  if (launch.ctas < spec.sms) {
    const int parts = parts_to_fill(spec, launch.ctas);
    found.push_back(recut(spec, launch, launch.ctas * parts, work,
                          "share the work of each CTA among " + std::to_string(parts) + ": " +
                              std::to_string(launch.ctas) + " -> " + std::to_string(launch.ctas * parts)));
  } else if (launch.largest <= 1 && items % spec.sms != 0) {
    const int64_t even = (items + spec.sms - 1) / spec.sms * spec.sms;
    found.push_back(recut(spec, launch, even, work,
                          "cut the work into a multiple of " + std::to_string(spec.sms) +
                              " pieces: " + std::to_string(items) + " -> " + std::to_string(even)));
  }
  std::erase_if(found, [now](const Change& change) { return change.expected_us > kWorthwhile * now; });
  std::sort(found.begin(), found.end(),
            [](const Change& a, const Change& b) { return a.expected_us < b.expected_us; });
  return found;
}

std::optional<OneMore> one_more_block(const Spec& spec, const BlockNeeds& needs) {
  const Occupancy now = occupancy(spec, needs);
  OneMore more{now.limiter, 0, 0, now.blocks + 1};
  BlockNeeds less = needs;
  const auto down_to = [&](int BlockNeeds::*what, int step) -> std::optional<OneMore> {
    more.now = needs.*what;
    for (less.*what = needs.*what - 1; less.*what > 0; less.*what -= step) {
      if (occupancy(spec, less).blocks > now.blocks) {
        more.then = less.*what;
        return more;
      }
      // Another resource is in the way before this one helps.
      if (occupancy(spec, less).limiter != now.limiter) return std::nullopt;
    }
    return std::nullopt;
  };
  if (now.limiter == Limiter::registers) return down_to(&BlockNeeds::registers, 1);
  if (now.limiter == Limiter::smem) return down_to(&BlockNeeds::smem_bytes, 1);
  return std::nullopt;
}

}  // namespace flashmoe::device
