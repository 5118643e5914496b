// SPDX-License-Identifier: MIT
// Python functions that compile when they are called (Triton, torch.compile, CuTe DSL): done once for every
// shape of a project, outside any call's limit, and kept. Every process has a folder of its own for its
// compilers' caches, which begins as a copy of what is kept: none can change another's kernel, and all of a
// session run the same machine code with the same choices of an autotuner.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "records/build.h"
#include "workers/worker.h"

namespace dent {

// What compiling gave.
struct Jitted {
  std::string binary_hash{};  // over all machine code; "" where a compiler leaves none
  double seconds = 0;
  std::map<std::string, std::string> compilers{};  // and their versions
  std::vector<TunedKernel> tuned{};                // what autotuners chose
  std::vector<KernelResources> kernels{};
  bool reused = false;  // nothing had changed
};
void fields(Fields& f, Jitted& jitted);

class JitStore {
 public:
  explicit JitStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // An empty folder for one process, which removes it.
  std::filesystem::path make_scratch();
  // Where compilers look for their caches.
  static std::vector<std::pair<std::string, std::string>> variables(const std::filesystem::path& scratch);

  // Brings what is kept for `origin` (all that the result depends on) into the worker's folder, and pins its
  // choices. Where there is nothing, `call_every_shape` does the work, and it is kept.
  Jitted settle(Worker& worker, const std::filesystem::path& scratch, const std::string& origin,
                const std::function<void()>& call_every_shape, double seconds);

 private:
  std::filesystem::path folder_;  // .dent/jit
};

}  // namespace dent
