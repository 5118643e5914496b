// SPDX-License-Identifier: MIT
#include "predict/measure.h"

#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "build/toolchain.h"
#include "predict/gpus.h"
#include "records/json.h"
#include "system/process.h"
#include "workers/resources.h"

namespace dent {
namespace {

// A temporary folder, deleted after the measurement.
class Scratch {
 public:
  Scratch() : folder(std::filesystem::temp_directory_path() / ("dent-measure-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder);
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path folder;
};

// cuBLAS gives the practical peak of matrix products; if it is missing, the program uses its own loop.
Finished compile(const std::string& nvcc, const std::filesystem::path& source, const Scratch& scratch,
                 bool cublas) {
  std::vector<std::string> command{nvcc,
                                   "-std=c++17",
                                   "-O3",
                                   "--use_fast_math",
                                   "-arch=" + gpu_architecture(),
                                   "-o",
                                   (scratch.folder / "measure").string(),
                                   source.string()};
  if (cublas) command.insert(command.end(), {"-DMEASURE_CUBLAS", "-lcublas"});
  return run({.argv = command, .log = scratch.folder / "log"}, 120);
}

}  // namespace

Measurement measure_gpu() {
  if (gpu_name_here().empty()) {
    throw Error(ErrorCode::environment, "this machine has no GPU to measure (nvidia-smi finds none)",
                "run dent devices --measure on the machine with the GPU; dent predict needs no GPU");
  }
  const std::string nvcc = nvcc_compiler();
  if (nvcc.empty()) {
    throw Error(ErrorCode::environment,
                "no CUDA compiler: nvcc is neither in PATH nor in /usr/local/cuda/bin",
                "install the CUDA toolkit, or set CUDA_HOME");
  }
  const std::filesystem::path source = find_resources().python_worker.parent_path() / "measure.cu";
  const Scratch scratch;
  bool cublas = true;
  Finished built = compile(nvcc, source, scratch, cublas);
  if (!built.ending.clean()) {
    cublas = false;
    built = compile(nvcc, source, scratch, cublas);
  }
  if (!built.ending.clean()) {
    throw Error(ErrorCode::environment,
                "the measuring program does not build: " + describe(built.ending) + "\n" + built.output,
                "check the CUDA toolkit: nvcc --version");
  }
  Finished ran = run({.argv = {(scratch.folder / "measure").string()}, .log = scratch.folder / "log"}, 60);
  if (!ran.ending.clean() && cublas) {  // it links cuBLAS, which can't be loaded on this machine
    if (compile(nvcc, source, scratch, false).ending.clean())
      ran = run({.argv = {(scratch.folder / "measure").string()}, .log = scratch.folder / "log"}, 60);
  }
  if (!ran.ending.clean() || !ParsedJson(ran.output).is_object()) {
    throw Error(ErrorCode::environment,
                "the measuring program failed: " + describe(ran.ending) + "\n" + ran.output,
                "check the GPU and its driver: nvidia-smi");
  }
  return from_json_text<Measurement>(ran.output);
}

}  // namespace dent
