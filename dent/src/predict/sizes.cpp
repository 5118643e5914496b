// SPDX-License-Identifier: MIT
#include "predict/sizes.h"

#include <charconv>

#include "base/error.h"

namespace dent {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(at, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::int64_t whole(std::string_view text, std::string_view all) {
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value < 1 ||
      value > (std::int64_t{1} << 30)) {
    throw Error(ErrorCode::invalid, "\"" + std::string(text) + "\" in \"" + std::string(all) +
                                        "\" must be a whole number from 1 to 2^30");
  }
  return value;
}

// Expands "128" or "128..4096": each number is twice the one before, and the end is always included.
std::vector<std::int64_t> range(std::string_view text, std::string_view all) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return {whole(text, all)};
  const std::int64_t first = whole(text.substr(0, dots), all), last = whole(text.substr(dots + 2), all);
  if (last < first) {
    throw Error(ErrorCode::invalid, "the range \"" + std::string(text) + "\" ends before it begins",
                "write the smaller number first");
  }
  std::vector<std::int64_t> values;
  for (std::int64_t value = first; value < last; value *= 2) values.push_back(value);
  values.push_back(last);
  return values;
}

}  // namespace

std::vector<Sizes> read_sizes(std::string_view text) {
  const auto parts = split(text, ',');
  if (parts.size() != 4) {
    throw Error(
        ErrorCode::invalid,
        "a shape is B,H,S,D; \"" + std::string(text) + "\" has " + std::to_string(parts.size()) + " numbers",
        "for example --shape 1,8,2048,64, or a range: --shape 1,8,128..4096,64");
  }
  std::vector<Sizes> shapes{{1, 1, 1, 1}};
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<Sizes> longer;
    for (const Sizes& shape : shapes) {
      for (const std::int64_t value : range(parts[i], text)) {
        longer.push_back(shape);
        longer.back()[i] = value;
      }
    }
    shapes = std::move(longer);
    if (shapes.size() > 10000)
      throw Error(ErrorCode::invalid, "\"" + std::string(text) + "\" is more than 10000 shapes",
                  "use shorter ranges");
  }
  return shapes;
}

std::int64_t read_grid(std::string_view text, std::string_view option) {
  const auto parts = split(text, ',');
  if (parts.size() > 3) {
    throw Error(ErrorCode::invalid,
                std::string(option) + " is \"" + std::string(text) + "\"; it takes one to three numbers");
  }
  std::int64_t product = 1;
  for (const std::string_view part : parts) {
    product *= whole(part, text);
    if (product > (std::int64_t{1} << 40)) {
      throw Error(ErrorCode::invalid, std::string(option) + " is \"" + std::string(text) +
                                          "\"; the product must be at most 2^40");
    }
  }
  return product;
}

}  // namespace dent
