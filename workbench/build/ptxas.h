// SPDX-License-Identifier: MIT
// What ptxas -v says about each kernel: registers, shared memory, stack, spills.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dent {

struct KernelResources {
  std::string name;
  std::string arch;
  int registers = 0;
  int static_smem_bytes = 0;
  int stack_bytes =
      0;  // also from arrays that are indexed by variables: memory traffic that spills don't show
  int spill_bytes = 0;  // stores and loads
};

// What a person calls a symbol; the symbol itself where it is no C++ name.
std::string demangled(const std::string& symbol);

std::vector<KernelResources> parse_ptxas(const std::string& compiler_output);
nlohmann::json record_of(const std::vector<KernelResources>& kernels);

// "" or what exceeds the limits that every GPU from compute capability 8.0 on has.
std::string beyond_limits(const std::vector<KernelResources>& kernels);

}  // namespace dent
