// SPDX-License-Identifier: MIT
#include "build/ptxas.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string_view>

namespace dent {
namespace {

constexpr int kMostStaticSmem = 48 * 1024;  // a kernel that needs more must use dynamic shared memory

// The number before `words`, or 0. Avoids std::regex, which takes seconds to compile and causes false
// warnings of g++ 12 under sanitizers.
int number_before(std::string_view line, std::string_view words) {
  constexpr std::string_view kDigits = "0123456789";
  for (auto at = line.find(words); at != std::string_view::npos; at = line.find(words, at + 1)) {
    if (at < 2 || line[at - 1] != ' ') continue;
    const auto last_other = line.find_last_not_of(kDigits, at - 2);
    const auto first = last_other == std::string_view::npos ? 0 : last_other + 1;
    int number = 0;
    if (std::from_chars(line.data() + first, line.data() + at, number).ec == std::errc()) return number;
  }
  return 0;
}

// The quoted text after `words`; empty if there is none.
std::string quoted_behind(std::string_view line, std::string_view words) {
  const auto at = line.find(words);
  if (at == std::string_view::npos) return {};
  const auto first = at + words.size() + 1;
  if (first >= line.size() || line[first - 1] != '\'') return {};
  const auto end = line.find('\'', first);
  return end == std::string_view::npos ? std::string() : std::string(line.substr(first, end - first));
}

}  // namespace

std::string demangled(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;  // not mangled; demangling "f" would give "float"
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : symbol;
}

std::vector<KernelResources> parse_ptxas(const std::string& compiler_output) {
  std::vector<KernelResources> kernels;
  std::istringstream lines(compiler_output);
  for (std::string line; std::getline(lines, line);) {
    const std::string entry = quoted_behind(line, "Compiling entry function ");
    if (!entry.empty()) {
      kernels.push_back({demangled(entry), quoted_behind(line, "' for "), 0, 0, 0, 0});
    } else if (kernels.empty()) {
      continue;
    } else if (line.find("bytes stack frame") != std::string::npos) {
      kernels.back().stack_bytes = number_before(line, "bytes stack frame");
      kernels.back().spill_bytes =
          number_before(line, "bytes spill stores") + number_before(line, "bytes spill loads");
    } else if (line.find("Used ") != std::string::npos) {
      kernels.back().registers = number_before(line, "registers");
      kernels.back().static_smem_bytes = number_before(line, "bytes smem");
    }
  }
  return kernels;
}

std::string beyond_limits(const std::vector<KernelResources>& kernels) {
  for (const KernelResources& kernel : kernels) {
    if (kernel.static_smem_bytes > kMostStaticSmem) {
      return fmt::format("{} uses {} bytes of static shared memory; a block may have {}", kernel.name,
                         kernel.static_smem_bytes, kMostStaticSmem);
    }
  }
  return {};
}

}  // namespace dent
