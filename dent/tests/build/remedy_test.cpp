// SPDX-License-Identifier: MIT
#include "build/remedy.h"

#include <gtest/gtest.h>

#include <fstream>

#include "ledger/in_child.h"

namespace dent::remedy_test {
namespace {

using test::ScratchFolder;

void expect_mentions(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words)
    EXPECT_NE(text.find(word), std::string::npos) << word << " is not in: " << text;
}

TEST(Remedy, AMissingHeaderAsksForItsFolder) {
  const Remedy remedy = read_compiler_output(
      "In file included from a.cpp:1:\nkernel.cpp:2:10: fatal error: helper.h: No such file or directory\n",
      "g++ exited", ".");
  expect_mentions(remedy.problem, {"kernel.cpp:2:10", "helper.h"});
  expect_mentions(remedy.next, {"include = [\"FOLDER\"]", "helper.h"});
}

TEST(Remedy, PyTorchsHeaderSaysWhichLinesToCut) {
  const ScratchFolder scratch;
  std::ofstream(scratch.path() / "soft.cu")
      << "#include <torch/extension.h>\n__global__ void soft(float* x) {}\n"
         "torch::Tensor run(torch::Tensor x) {\n  return x;\n}\n"
         "PYBIND11_MODULE(a, m) {\n  m.def(\"run\", &run);\n}\n";
  const Remedy remedy =
      read_compiler_output("soft.cu:1:10: fatal error: torch/extension.h: No such file or directory\n",
                           "nvcc exited", scratch.path());
  expect_mentions(remedy.problem, {"soft.cu includes torch/extension.h"});
  expect_mentions(remedy.next, {"lines 1, 3, 6 to 7", "entry", "load('soft', ['soft.cu'])",
                                "python = \"soft_torch:soft\""});
}

TEST(Remedy, AnOptionOfTheHostCompilerIsWrittenForNvcc) {
  const Remedy remedy =
      read_compiler_output("nvcc fatal   : Unknown option '-ffast-math'\n", "nvcc exited", ".");
  expect_mentions(remedy.next, {"-Xcompiler=-ffast-math"});
}

// The compiler driver only says that linking failed; ld's line names the file.
TEST(Remedy, ALibraryThatIsNotThereIsNamed) {
  for (const char* said : {"/usr/bin/ld: cannot find ../build/libfast.so: No such file or directory\n",
                           "/usr/bin/ld: cannot find ../build/libfast.so\n"}) {
    const Remedy remedy = read_compiler_output(
        std::string(said) + "collect2: error: ld returned 1 exit status\n", "g++ exited", ".");
    expect_mentions(remedy.problem, {"../build/libfast.so is to be linked"});
    EXPECT_EQ(remedy.problem.find("No such file"), std::string::npos);
    expect_mentions(remedy.next, {"link in dent.toml"});
  }
}

TEST(Remedy, AnErrorInTheGeneratedEntryIsTheManifests) {
  const Remedy remedy = read_compiler_output(
      "/p/.dent/build/kernel/dent_entry.cpp:9:14: error: 'real' does not name a type\n", "g++ exited", ".");
  expect_mentions(remedy.problem, {"the entry does not match the function", "'real' does not name a type"});
  EXPECT_EQ(remedy.problem.find("dent_entry"), std::string::npos);
  EXPECT_FALSE(remedy.next.empty());
}

TEST(Remedy, OutputWithoutAnErrorIsNamedByItsEnd) {
  EXPECT_EQ(read_compiler_output("all is well\n", "g++ exited with status 1", ".").problem,
            "g++ exited with status 1");
}

TEST(Remedy, SymbolsAreNamedAsInTheSource) {
  Kernel kernel;
  kernel.entry = "void softmax(const float* x, float* y, int n)";
  const Remedy entry = read_load_failure(
      "candidate (load): can't load the kernel: /p/kernel.so: undefined symbol: _Z7softmaxPKfPfi", kernel);
  EXPECT_EQ(entry.problem, "no source defines softmax with the types of the entry");
  expect_mentions(entry.next, {"copy", "entry"});
  const Remedy other =
      read_load_failure("can't load the kernel: x.so: undefined symbol: _Z6helperIfET_S0_", kernel);
  EXPECT_EQ(other.problem, "helper<float> is used but not defined");
  expect_mentions(read_load_failure("undefined symbol: omp_get_max_threads", kernel).next, {"-fopenmp"});
  expect_mentions(read_load_failure("undefined symbol: cublasSgemm_v2", kernel).next, {"-lcublas"});
  expect_mentions(read_load_failure("the library has no function \"go\"; is it", kernel).next, {"entry = "});
  expect_mentions(
      read_load_failure("can't load the kernel: libx.so.1: cannot open shared object file: No", kernel)
          .problem,
      {"libx.so.1"});
  for (const char* message : {"undefined symbol: _Z1fv", "something else"})
    EXPECT_FALSE(read_load_failure(message, kernel).next.empty());
}

}  // namespace
}  // namespace dent::remedy_test
