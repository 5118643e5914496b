// SPDX-License-Identifier: MIT
#include "build/jit_cache.h"

#include <algorithm>

#include "base/error.h"
#include "base/sha256.h"
#include "base/text.h"
#include "build/object_resources.h"
#include "records/json.h"

namespace dent {
namespace {

namespace fs = std::filesystem;

// Sorted, so that the order does not depend on the file system.
std::vector<fs::path> cubins_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (fs::recursive_directory_iterator entry(folder, none), end; !none && entry != end;
       entry.increment(none)) {
    if (entry->is_regular_file(none) && entry->path().extension() == ".cubin") files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The part of Triton's <kernel>.json, next to <kernel>.cubin, that dent reads.
struct TritonMetadata {
  std::optional<std::string> triton_version{};
  std::optional<int> shared{}, num_warps{};
};
void fields(Fields& f, TritonMetadata& metadata) {
  f("triton_version", metadata.triton_version, "version of Triton that compiled it");
  f("shared", metadata.shared, "bytes of shared memory");
  f("num_warps", metadata.num_warps, "warps per CTA");
}

void add_metadata(std::vector<KernelResources>& kernels, fs::path cubin) {
  const auto text = read_text(cubin.replace_extension(".json"));
  if (!text) return;
  TritonMetadata metadata;
  try {
    metadata = from_json_text<TritonMetadata>(*text);
  } catch (const Error&) {
    return;  // a file of another compiler
  }
  if (!metadata.num_warps) return;
  for (KernelResources& kernel : kernels) {
    kernel.dynamic_smem_bytes = metadata.shared.value_or(0);
    kernel.spill_bytes = kernel.stack_bytes;  // Triton uses the stack for spills only
  }
}

}  // namespace

std::vector<KernelResources> jit_resources(const fs::path& folder) {
  std::vector<KernelResources> all;
  for (const fs::path& cubin : cubins_in(folder)) {
    const auto bytes = read_text(cubin);
    if (!bytes) continue;
    std::vector<KernelResources> kernels;
    try {
      kernels = cubin_resources(*bytes);
    } catch (const Error&) {
      continue;  // skip invalid files: another program wrote them
    }
    add_metadata(kernels, cubin);
    for (KernelResources& kernel : kernels) {
      if (std::find(all.begin(), all.end(), kernel) == all.end()) all.push_back(std::move(kernel));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const KernelResources& a, const KernelResources& b) { return a.name < b.name; });
  return all;
}

std::string jit_hash(const fs::path& folder) {
  std::string all;
  for (const fs::path& cubin : cubins_in(folder))
    all += cubin.lexically_relative(folder).string() + " " + sha256_of_file(cubin) + "\n";
  return all.empty() ? "" : sha256(all);
}

}  // namespace dent
