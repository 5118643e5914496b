// SPDX-License-Identifier: MIT
#include "build/declaration.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace dent::declaration_test {
namespace {

TEST(Declaration, TellsADeclarationFromAName) {
  EXPECT_TRUE(is_declaration("void f(int S)"));
  EXPECT_FALSE(is_declaration("flashmoe_attention"));
}

TEST(Declaration, HasTypeNameAndParameters) {
  const Declaration function =
      parse_declaration(" extern \"C\" int softmax(const float *x, float y[], int n);\n");
  EXPECT_TRUE(function.c_linkage);
  EXPECT_EQ(function.text, "int softmax(const float *x, float y[], int n)");
  EXPECT_EQ(function.type, "int");
  EXPECT_EQ(function.name, "softmax");
  ASSERT_EQ(function.parameters.size(), 3U);
  EXPECT_EQ(function.parameters[0].type, "const float *");
  EXPECT_EQ(function.parameters[1].type, "float*");
  EXPECT_EQ(function.parameters[1].name, "y");
  EXPECT_FALSE(function.is_kernel());
  EXPECT_FALSE(function.needs_definition());
  EXPECT_TRUE(parse_declaration("void f(void)").parameters.empty());
  EXPECT_TRUE(parse_declaration("void f()").parameters.empty());
}

TEST(Declaration, KnowsInstancesOfTemplatesAndNamespaces) {
  const Declaration function = parse_declaration(
      "__global__ void __launch_bounds__(256) gemm::tiled<64, Pair<8, 8>>(int M, float* C)");
  EXPECT_TRUE(function.is_kernel());
  EXPECT_TRUE(function.needs_definition());
  EXPECT_EQ(function.name, "gemm::tiled");
  EXPECT_EQ(function.last_name(), "tiled");
  EXPECT_EQ(function.arguments, "<64, Pair<8, 8>>");
  EXPECT_EQ(function.parameters.size(), 2U);
}

TEST(Declaration, SaysWhatIsMissing) {
  const auto error_of = [](const char* entry) -> std::string {
    try {
      parse_declaration(entry);
    } catch (const Error& problem) {
      return problem.what();
    }
    return "no error";
  };
  for (const char* entry : {"attend(float* out)", "void attend(float* out", "void attend float* out)",
                            "void attend(float* out) {", "attend>(int n)"}) {
    EXPECT_NE(error_of(entry).find("for example: void softmax("), std::string::npos)
        << entry << error_of(entry);
  }
  EXPECT_NE(error_of("void f(const float*, int n)").find("no name for parameter 1"), std::string::npos);
  EXPECT_NE(error_of("template <int N> void f(int n)").find("name<64, 8>"), std::string::npos);
}

TEST(Declaration, KnowsAGlobalFunctionByItsSource) {
  const std::string source =
      "#define N 4\n__global__ void __launch_bounds__(256) first(int n) {}\n"
      "template <int N>\n__global__ void second(float* x) {}\nvoid third(float* x) { second<4><<<1, 1>>>(x); "
      "}\nstatic inline float fourth(float x) { return x; }\nstatic int fifth = 1;\n";
  EXPECT_TRUE(is_kernel_in(source, "first"));
  EXPECT_TRUE(is_kernel_in(source, "second"));
  EXPECT_FALSE(is_kernel_in(source, "third"));
  EXPECT_FALSE(is_kernel_in("__global__", "third"));
  EXPECT_TRUE(is_static_in(source, "fourth"));
  EXPECT_FALSE(is_static_in(source, "third"));
  EXPECT_TRUE(mentions(source, "third"));
  EXPECT_FALSE(mentions(source, "thir"));
}

}  // namespace
}  // namespace dent::declaration_test
