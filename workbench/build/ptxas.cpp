// SPDX-License-Identifier: MIT
#include "build/ptxas.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <regex>
#include <sstream>

namespace dent {
namespace {

constexpr int kMostStaticSmem = 48 * 1024;  // more must be asked for as dynamic shared memory

int number_before(const std::string& line, const std::string& words) {
  std::smatch match;
  return std::regex_search(line, match, std::regex("([0-9]+) " + words)) ? std::stoi(match[1]) : 0;
}

}  // namespace

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : symbol;
}

std::vector<KernelResources> parse_ptxas(const std::string& compiler_output) {
  static const std::regex entry("Compiling entry function '([^']+)' for '([^']+)'");
  std::vector<KernelResources> kernels;
  std::istringstream lines(compiler_output);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, entry)) {
      kernels.push_back({demangled(match[1]), match[2], 0, 0, 0, 0});
    } else if (kernels.empty()) {
      continue;
    } else if (line.find("bytes stack frame") != std::string::npos) {
      kernels.back().stack_bytes = number_before(line, "bytes stack frame");
      kernels.back().spill_bytes =
          number_before(line, "bytes spill stores") + number_before(line, "bytes spill loads");
    } else if (line.find("Used ") != std::string::npos) {
      std::smatch used;
      if (std::regex_search(line, used, std::regex("Used ([0-9]+) registers")))
        kernels.back().registers = std::stoi(used[1]);
      kernels.back().static_smem_bytes = number_before(line, "bytes smem");
    }
  }
  return kernels;
}

nlohmann::json record_of(const std::vector<KernelResources>& kernels) {
  nlohmann::json list = nlohmann::json::array();
  for (const KernelResources& kernel : kernels) {
    list.push_back({{"name", kernel.name},
                    {"arch", kernel.arch},
                    {"registers", kernel.registers},
                    {"static_smem_bytes", kernel.static_smem_bytes},
                    {"stack_bytes", kernel.stack_bytes},
                    {"spill_bytes", kernel.spill_bytes}});
  }
  return list;
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
