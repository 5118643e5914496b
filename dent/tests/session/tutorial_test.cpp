// SPDX-License-Identifier: MIT
// Kernels as tutorials have them, untouched, with a manifest of under 20 lines.
#include <gtest/gtest.h>

#include <algorithm>

#include "session/dent_program.h"

namespace dent::tutorial_test {
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

// A kernel as people have it, in a project around it: y from x by `rest` of a manifest, checked or built.
struct Newcomer {
  ScratchProject project;
  Newcomer(const std::string& kernel, const std::string& op,
           const std::string& reference = "y[i] = 2 * x[i];") {
    project.write("dent.toml",
                  "version = 1\nshapes = [{ name = \"tiny\", n = 5 }, { name = \"odd\", n = 4097 }]\n" +
                      std::string("[kernel]\n") + kernel + "\n[baseline.none]\npython = \"none:none\"\n" +
                      "[operator]\nname = \"twice\"\ninputs.x = { shape = [\"n\"] }\n" +
                      "outputs.y = { shape = [\"n\"] }\n" + op +
                      "\nreference = { source = \"reference.cpp\", entry = \"reference\" }\n");
    project.write(
        "reference.cpp",
        "#include <dent/kernel.h>\n#include <math.h>\nextern \"C\" int reference(const dent_call* call) {\n"
        "  const double* x = (const double*)call->inputs[0].data;\n"
        "  double* y = (double*)call->outputs[0].data;\n"
        "  for (long i = 0; i < call->inputs[0].sizes[0]; ++i) " +
            reference + "\n  return 0;\n}\n");
  }
  Ran check() const { return project.dent({"check", "-q", "--json"}); }
  // What a stranger is told about a build that fails.
  nlohmann::json refused(const char* command = "build") const {
    const Ran ran = project.dent({command, "-q", "--json"});
    EXPECT_EQ(ran.code, 4) << ran.out << ran.err;
    const auto document = ran.json();
    EXPECT_NE(document.value("next", ""), "") << ran.out;
    for (const char* sign : {"_Z", "(float", "std::__cxx11"}) {
      EXPECT_EQ(document.value("reason", "").find(sign), std::string::npos) << document.value("reason", "");
    }
    return document;
  }
};

TEST(Newcomer, AnInstanceOfATemplateInAHeaderIsAnEntry) {
  const Newcomer newcomer(
      "sources = [\"twice.hpp\"]\nentry = \"void twice<2, float>(const float* x, float* y, int n)\"", "");
  newcomer.project.write("twice.hpp",
                         "template <int kFactor, class T>\nvoid twice(const T* x, T* y, int n) {\n"
                         "  for (int i = 0; i < n; ++i) y[i] = kFactor * x[i];\n}\n");
  const Ran ran = newcomer.check();
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

TEST(Newcomer, AStaticFunctionIsAnEntry) {
  const Newcomer newcomer(
      "sources = [\"twice.cpp\"]\nentry = \"void twice(const float* x, float* y, int n)\"", "");
  newcomer.project.write("twice.cpp",
                         "static void twice(const float* x, float* y, int n) {\n"
                         "  for (int i = 0; i < n; ++i) y[i] = 2 * x[i];\n}\n");
  const Ran ran = newcomer.check();
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

// What it packs is not in its time: two functions as people have them, and dent writes what is between.
TEST(Newcomer, AKernelWithASetupForItsWeights) {
  const Newcomer newcomer(
      "sources = [\"packed.cpp\"]\nentry = \"void add(const float* x, const float* setup, float* y, int "
      "n)\"\n"
      "setup = \"float* pack(const float* w, int n, float* setup)\"",
      "inputs.w = { shape = [\"n\"], constant = true }",
      "y[i] = x[i] + 3 * ((const double*)call->inputs[1].data)[i];");
  const std::string add =
      "void add(const float* x, const float* setup, float* y, int n) {\n"
      "  for (int i = 0; i < n; ++i) y[i] = x[i] + setup[i];\n}\n";
  newcomer.project.write("packed.cpp",
                         "#include <stdlib.h>\nfloat* pack(const float* w, int n, float* setup) {\n"
                         "  setup = (float*)realloc(setup, n * sizeof(float));\n"
                         "  for (int i = 0; i < n; ++i) setup[i] = 3 * w[i];\n  return setup;\n}\n" +
                             add);
  const Ran right = newcomer.check();
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  const Ran sanitized = newcomer.project.dent({"sanitize", "-q", "--json"});
  EXPECT_EQ(sanitized.code, 0) << sanitized.out << sanitized.err;
  newcomer.project.write("packed.cpp",
                         "float* pack(const float* w, int n, float* setup) {\n"
                         "  static float all[4097];\n  if (setup == all) return all;\n"
                         "  for (int i = 0; i < n; ++i) all[i] = 3 * w[i];\n  return all;\n}\n" +
                             add);
  const Ran stale = newcomer.check();  // what it made of the first weights
  EXPECT_EQ(stale.code, 5) << stale.out << stale.err;
}

// C that is no C++, with OpenMP: its flag names a library, so the linker gets it as well.
TEST(Newcomer, AFileInCWithOpenMp) {
  const Newcomer newcomer(
      "sources = [\"twice.c\"]\nflags = [\"-fopenmp\"]\nentry = \"void twice(const float* restrict x, float* "
      "y, int n)\"",
      "");
  newcomer.project.write(
      "twice.c",
      "#include <omp.h>\n#include <stdlib.h>\nvoid twice(const float* restrict x, float* y, int n) {\n"
      "  float* copy = malloc(n * sizeof *copy);\n  int new = omp_get_max_threads();\n"
      "#pragma omp parallel for num_threads(new)\n"
      "  for (int i = 0; i < n; ++i) { copy[i] = x[i]; y[i] = 2 * copy[i]; }\n  free(copy);\n}\n");
  const Ran ran = newcomer.check();
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

TEST(Newcomer, AFunctionOfALibraryByItsDeclaration) {
  const Newcomer newcomer(
      "build = \"cc -shared -fPIC -Wl,-soname,another.so.1 -o libtwice.so twice.c\"\nlibrary = "
      "\"libtwice.so\"\n"
      "entry = \"void twice(const float* x, float* y, int n)\"",
      "");
  newcomer.project.write(
      "twice.c",
      "void twice(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = 2 * x[i]; }\n");
  const Ran ran = newcomer.check();
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  // What is measured is the library that is there now.
  newcomer.project.write(
      "twice.c",
      "void twice(const float* x, float* y, int n) { for (int i = 0; i < n; ++i) y[i] = 3 * x[i]; }\n");
  EXPECT_EQ(newcomer.check().code, 5);
  newcomer.project.write("twice.c", "void thrice(const float* x, float* y, int n) { y[0] = x[n - 1]; }\n");
  const auto document = newcomer.refused();
  EXPECT_NE(document.value("reason", "").find("no C function twice"), std::string::npos);
  EXPECT_NE(document.value("next", "").find("extern \"C\""), std::string::npos);
}

// Scratch is poisoned, and whatever is left in it is nobody's business.
TEST(Newcomer, AKernelWithABufferOfItsOwn) {
  const Newcomer newcomer(
      "sources = [\"twice.cpp\"]\nentry = \"void twice(const float* x, double* half, float* y, int n)\"",
      "scratch.half = { shape = [\"n\"], dtype = \"fp64\" }");
  const auto check_with = [&](const std::string& statement) {
    newcomer.project.write("twice.cpp",
                           "static int calls;\nvoid twice(const float* x, double* half, float* y, int n) {\n"
                           "  ++calls;\n  for (int i = 0; i < n; ++i) { " +
                               statement + " }\n}\n");
    return newcomer.check();
  };
  const Ran ran = check_with("half[i] = 4.0 * x[i]; y[i] = half[i] / 2; half[i] = calls;");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(check_with("y[i] = 2 * x[i] + 0 * half[i];").code, 5) << "it reads what it has not written";
  EXPECT_EQ(check_with("y[i] = 2 * x[i]; half[n] = 1;").code, 5) << "it writes beyond its end";
}

// y = max(y, 2 x), where y is -inf to begin with.
TEST(Newcomer, AnInputOfOneValueThroughout) {
  const Newcomer newcomer(
      "sources = [\"largest.cpp\"]\nentry = \"void largest(const float* x, float* y, int n)\"",
      "inputs.y = { shape = [\"n\"], fill = -inf }",
      "y[i] = fmax(((const double*)call->inputs[1].data)[i], i % 2 ? 2 * x[i] : -INFINITY);");
  const auto check_with = [&](const std::string& statement) {
    newcomer.project.write("largest.cpp",
                           "#include <math.h>\nvoid largest(const float* x, float* y, int n) {\n"
                           "  for (int i = 0; i < n; ++i) " +
                               statement + "\n}\n");
    return newcomer.check();
  };
  const Ran ran = check_with("if (i % 2) y[i] = fmaxf(y[i], 2 * x[i]);");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  EXPECT_EQ(check_with("y[i] = i % 2 ? 2 * x[i] : 0;").code, 5) << "0 is not -inf";
}

// A sum one by one of 2,048 products in fp32 is as right as fp32 allows; one in fp16 is not.
TEST(Newcomer, ALongSumIsAllowedItsRounding) {
  const ScratchProject project;
  project.write("dent.toml", R"toml(version = 1
shapes = [{ name = "long", M = 96, N = 96, K = 2048 }]
[kernel]
sources = ["product.cpp"]
entry = "void product(const float* a, const float* b, float* c, int M, int N, int K)"
[baseline.none]
python = "none:none"
[operator]
name = "product"
inputs.a = { shape = ["M", "K"] }
inputs.b = { shape = ["K", "N"] }
outputs.c = { shape = ["M", "N"] }
reference = { source = "reference.cpp", entry = "reference" }
)toml");
  project.write("reference.cpp", R"(#include <dent/kernel.h>
extern "C" int reference(const dent_call* call) {
  const double* a = (const double*)call->inputs[0].data;
  const double* b = (const double*)call->inputs[1].data;
  double* c = (double*)call->outputs[0].data;
  const long M = call->inputs[0].sizes[0], K = call->inputs[0].sizes[1], N = call->inputs[1].sizes[1];
  for (long i = 0; i < M * N; ++i) c[i] = 0;
  for (long m = 0; m < M; ++m)
    for (long k = 0; k < K; ++k)
      for (long n = 0; n < N; ++n) c[m * N + n] += a[m * K + k] * b[k * N + n];
  return 0;
}
)");
  const auto check_with = [&](const std::string& type, const std::string& rounded) {
    project.write("product.cpp",
                  "#include <math.h>\n" + rounded +
                      "void product(const float* a, const float* b, float* c, int M, int N, int K) {\n"
                      "  for (int m = 0; m < M; ++m) for (int n = 0; n < N; ++n) {\n    " +
                      type +
                      " sum = 0;\n    for (int k = 0; k < K; ++k) sum += rounded(a[m * K + k]) * rounded(b[k "
                      "* N + n]);\n"
                      "    c[m * N + n] = sum;\n  }\n}\n");
    return project.dent({"check", "-q", "--json"});
  };
  const Ran ran = check_with("float", "static float rounded(float x) { return x; }\n");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
  // Inputs of 11 bits, as tensor cores take them when nobody asked for that.
  const Ran cut =
      check_with("double", "static double rounded(float x) { return roundf(x * 1024) / 1024; }\n");
  EXPECT_EQ(cut.code, 5) << cut.out << cut.err;
}

TEST(Newcomer, BuildsThatFailSayWhatToType) {
  const Newcomer torch("sources = [\"twice.cpp\"]\nentry = \"void twice(const float* x, float* y, int n)\"",
                       "");
  torch.project.write(
      "twice.cpp", "#include <torch/extension.h>\ntorch::Tensor twice(torch::Tensor x) { return 2 * x; }\n");
  EXPECT_NE(torch.refused().value("next", "").find("lines 1 to 2"), std::string::npos);

  torch.project.write("twice.cpp", "void twice(const double* x, float* y, int n) { y[0] = x[n - 1]; }\n");
  EXPECT_NE(torch.refused().value("next", "").find("copy the first line of its definition"),
            std::string::npos);

  torch.project.write(
      "twice.cpp",
      "extern \"C\" int omp_get_max_threads();\n"
      "void twice(const float* x, float* y, int n) { y[0] = x[n - 1] * omp_get_max_threads(); }\n");
  EXPECT_NE(torch.refused().value("next", "").find("-fopenmp"), std::string::npos);

  torch.project.write("twice.cpp", "void twice(const float* x, float* y, int n) { y[0] = ; }\n");
  EXPECT_NE(torch.refused().value("next", "").find("build.log"), std::string::npos);

  const Newcomer header("sources = [\"twice.hpp\"]\nentry = \"twice\"", "");
  header.project.write("twice.hpp", "void twice();\n");
  EXPECT_NE(header.refused().value("next", "").find("declaration"), std::string::npos);

  const Newcomer missing("sources = [\"nowhere.cpp\"]\nentry = \"twice\"", "");
  EXPECT_NE(missing.refused().value("reason", "").find("does not exist"), std::string::npos);
}

}  // namespace
}  // namespace dent::tutorial_test
