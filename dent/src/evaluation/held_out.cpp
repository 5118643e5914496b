// SPDX-License-Identifier: MIT
#include "evaluation/held_out.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "operators/fill.h"
#include "project/choice.h"

namespace dent {
namespace {

constexpr std::size_t kMostDerived = 2;

struct Free {  // a size that differs among the shapes
  std::string name;
  std::vector<std::int64_t> values;  // sorted and unique
  std::int64_t step = 1;
};

std::vector<Free> free_sizes(const Project& project) {
  std::vector<Free> found;
  for (const auto& [name, ignored] : project.shapes.front().sizes) {
    Free size{name, {}, 0};
    bool everywhere = true;
    for (const Shape& shape : project.shapes) {
      const auto at = shape.sizes.find(name);
      if (at == shape.sizes.end() || at->second != std::floor(at->second)) {
        everywhere = false;
        break;
      }
      size.values.push_back(static_cast<std::int64_t>(at->second));
      size.step = std::gcd(size.step, size.values.back());
    }
    std::sort(size.values.begin(), size.values.end());
    size.values.erase(std::unique(size.values.begin(), size.values.end()), size.values.end());
    if (everywhere && size.values.size() > 1 && size.step > 0) found.push_back(std::move(size));
  }
  return found;
}

// A random multiple of the step strictly between two neighbours; nothing if there is none.
std::optional<std::int64_t> between(std::int64_t low, std::int64_t high, std::int64_t step, Random& random) {
  const std::int64_t steps = (high - low) / step - 1;
  if (steps < 1) return std::nullopt;
  return low + step * (1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(steps))));
}

}  // namespace

std::vector<Shape> held_out_shapes(const Project& project, std::uint64_t seed) {
  if (!project.optimize.held_out_shapes.empty()) return project.optimize.held_out_shapes;
  Random random(seed);
  std::vector<Shape> drawn;
  const auto sizes = free_sizes(project);
  for (std::size_t n = 0; !sizes.empty() && n < project.shapes.size() && drawn.size() < kMostDerived; ++n) {
    Shape shape = project.shapes[n];
    bool moved = false;
    for (const Free& size : sizes) {
      const auto now = static_cast<std::int64_t>(shape.sizes[size.name]);
      const auto next = std::upper_bound(size.values.begin(), size.values.end(), now);
      if (next == size.values.end()) continue;
      if (const auto value = between(now, *next, size.step, random)) {
        shape.sizes[size.name] = static_cast<double>(*value);
        moved = true;
      }
    }
    if (!moved) continue;
    shape.name = "held-out-" + std::to_string(drawn.size() + 1);
    shape.weight = 1;  // independent of the neighbours' weights
    Project probe = project;
    probe.shapes = {shape};
    if (broken_constraint(probe, project.choice).empty()) drawn.push_back(std::move(shape));
  }
  return drawn;
}

}  // namespace dent
