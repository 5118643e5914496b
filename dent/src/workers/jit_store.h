// SPDX-License-Identifier: MIT
// Python functions that compile when called (Triton, torch.compile, CuTe DSL) are compiled once for every
// shape of a project, outside any call's limit, and the result is kept. Every process gets its own cache
// folder, filled with a copy of what is kept: so no process can change another's kernel, and a whole session
// runs the same machine code with the same choices of an autotuner.
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

// Result of compiling.
struct Jitted {
  std::string binary_hash{};  // over all machine code; "" if a compiler leaves none
  double seconds = 0;
  std::map<std::string, std::string> compilers{};  // and their versions
  std::vector<TunedKernel> tuned{};                // what autotuners chose
  std::vector<KernelResources> kernels{};
  bool reused = false;  // taken from an earlier session
};
void fields(Fields& f, Jitted& jitted);

class JitStore {
 public:
  explicit JitStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Creates an empty folder for one process, which removes it.
  std::filesystem::path make_scratch();
  // Environment variables that direct compilers to caches in `scratch`.
  static std::vector<std::pair<std::string, std::string>> variables(const std::filesystem::path& scratch);

  // Copies the result kept for `origin` (a text of all that it depends on) into the worker's folder and pins
  // its choices. If there is none, `call_every_shape` compiles, and the result is kept.
  Jitted settle(Worker& worker, const std::filesystem::path& scratch, const std::string& origin,
                const std::function<void()>& call_every_shape, double seconds);

 private:
  std::filesystem::path folder_;  // .dent/jit
};

}  // namespace dent
