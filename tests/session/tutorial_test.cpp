// SPDX-License-Identifier: MIT
// Kernels as tutorials have them, untouched, with a manifest of under 20 lines.
#include <gtest/gtest.h>

#include <algorithm>

#include "session/dent_program.h"

namespace dent {
namespace {

using test::Ran;
using test::ScratchProject;

const std::string kTutorial = R"toml(version = 1
shapes = [{ name = "tiny", n = 5 }, { name = "odd", n = 4097 }]
[kernel]
sources = ["saxpy.cpp"]
entry = "void saxpy(int n, float a, const float* x, float* y)"
[baseline.plain]
sources = ["saxpy.cpp"]
entry = "void saxpy(int n, float a, const float* x, float* y)"
[operator]
name = "saxpy"
inputs.x = { shape = ["n"] }
inputs.y = { shape = ["n"] }
outputs.y = { shape = ["n"] }
parameters = { a = 2.5 }
reference = { source = "reference.cpp", entry = "saxpy" }
)toml";

const std::string kTutorialReference = R"(#include <dent/kernel.h>
extern "C" __attribute__((visibility("default"))) int saxpy(const dent_call* call) {
  const double* x = (const double*)call->inputs[0].data;
  const double* y = (const double*)call->inputs[1].data;
  double* out = (double*)call->outputs[0].data;
  for (long i = 0; i < call->inputs[0].sizes[0]; ++i) out[i] = 2.5 * x[i] + y[i];
  return 0;
}
)";

Ran check_saxpy(const std::string& statement) {
  const ScratchProject project;
  EXPECT_LT(std::count(kTutorial.begin(), kTutorial.end(), '\n'), 20);
  project.write("dent.toml", kTutorial);
  project.write("reference.cpp", kTutorialReference);
  project.write("saxpy.cpp",
                "void saxpy(int n, float a, const float* x, float* y) {\n  for (int i = 0; i < n; ++i) " +
                    statement + "\n}\n");
  return project.dent({"check", "--json"});
}

TEST(Tutorial, AKernelThatUpdatesItsInputInPlaceIsRightAndNoCheat) {
  const Ran ran = check_saxpy("y[i] = a * x[i] + y[i];");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

TEST(Tutorial, AKernelThatUpdatesItsInputWronglyIsWrong) {
  const Ran ran = check_saxpy("if (i != 3) y[i] = a * x[i] + y[i];");
  EXPECT_EQ(ran.code, 5) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("1 of 5 elements are wrong; first: y[3]"), std::string::npos) << ran.out;
}

TEST(Tutorial, AnInputThatIsNoOutputMustStayAsItIs) {
  const Ran ran = check_saxpy("{ y[i] = a * x[i] + y[i]; const_cast<float*>(x)[i] = 0; }");
  EXPECT_EQ(ran.code, 9) << ran.out << ran.err;
}

TEST(Tutorial, AGlobalFunctionWithoutALaunchIsToldHow) {
  const ScratchProject project;
  std::string text = kTutorial;
  for (auto at = text.find("saxpy.cpp"); at != std::string::npos; at = text.find("saxpy.cpp"))
    text.replace(at, 9, "saxpy.cu");
  project.write("dent.toml", text);
  project.write("saxpy.cu",
                "__global__ void saxpy(int n, float a, const float* x, float* y) { y[0] = a; }\n");
  const Ran ran = project.dent({"build", "--json"});
  EXPECT_EQ(ran.code, 4) << ran.out << ran.err;
  EXPECT_NE(ran.out.find("[kernel.launch]"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace dent
