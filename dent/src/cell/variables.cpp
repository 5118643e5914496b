// SPDX-License-Identifier: MIT
#include "cell/variables.h"

#include <unistd.h>

#include <algorithm>

namespace dent {
namespace {

constexpr const char* kUsual[] = {"PATH",
                                  "LANG",
                                  "LANGUAGE",
                                  "TZ",
                                  "TERM",
                                  "NO_COLOR",
                                  "CC",
                                  "CXX",
                                  "CPATH",
                                  "CUDAHOSTCXX",
                                  "NVCC_CCBIN",
                                  "LIBRARY_PATH",
                                  "LD_LIBRARY_PATH",
                                  "C_INCLUDE_PATH",
                                  "CPLUS_INCLUDE_PATH",
                                  "VIRTUAL_ENV",
                                  "GLIBC_TUNABLES"};
// How a program runs: numbers of threads, which GPU, what a sanitizer does.
constexpr const char* kUsualBeginnings[] = {
    "LC_",   "CUDA_",  "NVIDIA_", "NV_",      "OMP_",    "GOMP_",  "KMP_",    "MKL_",      "OPENBLAS_",
    "BLIS_", "NUMBA_", "TORCH_",  "PYTORCH_", "TRITON_", "PYTHON", "MALLOC_", "FLASHMOE_", "DENT_"};
constexpr const char* kUsualEndings[] = {"SAN_OPTIONS"};

bool has(const Variables& variables, std::string_view name) {
  return std::any_of(variables.begin(), variables.end(), [&](const auto& one) { return one.first == name; });
}

}  // namespace

bool is_usual_variable(std::string_view name) {
  return std::any_of(std::begin(kUsual), std::end(kUsual),
                     [&](const char* usual) { return name == usual; }) ||
         std::any_of(std::begin(kUsualBeginnings), std::end(kUsualBeginnings),
                     [&](const char* beginning) { return name.starts_with(beginning); }) ||
         std::any_of(std::begin(kUsualEndings), std::end(kUsualEndings),
                     [&](const char* ending) { return name.ends_with(ending); });
}

Variables cell_variables(const std::vector<std::string>& names, const Variables& more) {
  Variables result = more;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto at = text.find('=');
    if (at == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, at);
    const bool wanted = is_usual_variable(name) || std::find(names.begin(), names.end(), name) != names.end();
    if (wanted && !has(more, name)) result.emplace_back(name, text.substr(at + 1));
  }
  // The user's own are not there.
  for (const char* name : {"HOME", "TMPDIR"}) {
    if (!has(result, name)) result.emplace_back(name, "/tmp");
  }
  return result;
}

}  // namespace dent
