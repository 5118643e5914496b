// SPDX-License-Identifier: MIT
#include "build/glue.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/sha256.h"
#include "build/ptxas.h"
#include "operators/attention.h"

namespace dent {
namespace {

const Shape kShape{"tiny", {{"S", 32}}};

std::string glue(const std::string& declaration, bool cuda = false) {
  return glue_source(declaration, attention_forward({}), kShape, cuda);
}

TEST(Glue, MatchesParametersByName) {
  const std::string source =
      glue("void attend(float* out, const float *q, const float* k, const float* v, int S, float scale)");
  EXPECT_NE(
      source.find(
          "attend((float*)call->outputs[0].data, (const float *)call->inputs[0].data, (const "
          "float*)call->inputs[1].data, "
          "(const float*)call->inputs[2].data, (int)number(call, \"S\"), (float)number(call, \"scale\"))"),
      std::string::npos)
      << source;
}

TEST(Glue, WhatIsUpdatedInPlaceIsTheOutput) {
  Operator op;
  op.inputs = {{"x", DType::fp32, {"n"}, {}}, {"y", DType::fp32, {"n"}, {}}};
  op.outputs = {{"y", DType::fp32, {"n"}, {}}};
  op.reference.kind = Reference::Kind::python;
  const std::string source =
      glue_source("void saxpy(int n, const float* x, float* y)", op, {"tiny", {{"n", 5}}}, false);
  EXPECT_NE(source.find("(const float*)call->inputs[0].data, (float*)call->outputs[0].data)"),
            std::string::npos)
      << source;
}

TEST(Glue, PassesTheStreamAndChecksTheLaunch) {
  const std::string source = glue("void attend(const half* q, half* out, cudaStream_t stream)", true);
  EXPECT_NE(source.find("(cudaStream_t)call->stream"), std::string::npos) << source;
  EXPECT_NE(source.find("cudaGetLastError()"), std::string::npos) << source;
}

TEST(Glue, LaunchesAGlobalFunctionAsTheManifestSays) {
  Operator op;
  op.inputs = {{"a", DType::fp32, {"n"}, {}}};
  op.outputs = {{"b", DType::fp32, {"n"}, {}}};
  op.reference.kind = Reference::Kind::python;
  const Shape shape{"tiny", {{"n", 5}}};
  const std::string entry = "__global__ void add(const float* a, float* b, int n)";
  LaunchRule launch;
  launch.grid = "ceil(n/256), max(1, n)";
  launch.block = "256";
  launch.smem = "4*n";
  const std::string source = glue_source(entry, op, shape, true, launch);
  EXPECT_NE(source.find(
                "add<<<dims(ceil(number(call, \"n\")/(double)256), fmax((double)1, number(call, \"n\"))), "
                "dims((double)256), (size_t)((double)4*number(call, \"n\")), (cudaStream_t)call->stream>>>("),
            std::string::npos)
      << source;
  EXPECT_NE(source.find("cudaFuncAttributeMaxDynamicSharedMemorySize"), std::string::npos);
  EXPECT_NE(source.find("cudaGetLastError()"), std::string::npos);
  EXPECT_THROW(glue_source(entry, op, shape, true, {}), Error);
  launch.cluster = "2";
  EXPECT_THROW(glue_source(entry, op, shape, true, launch), Error);
}

TEST(Glue, KnowsAGlobalFunctionByItsSource) {
  const std::string source =
      "#define N 4\n__global__ void __launch_bounds__(256) first(int n) {}\n"
      "template <int N>\n__global__ void second(float* x) {}\nvoid third(float* x) { second<4><<<1, 1>>>(x); "
      "}\n";
  EXPECT_TRUE(is_kernel_in(source, "void first(int n)"));
  EXPECT_TRUE(is_kernel_in(source, "void second(float* x)"));
  EXPECT_FALSE(is_kernel_in(source, "void third(float* x)"));
  EXPECT_FALSE(is_kernel_in("__global__", "void third(float* x)"));
}

TEST(Glue, TakesAnIntForAStatus) {
  EXPECT_NE(glue("extern \"C\" int attend(float* out)").find("return (int)attend("), std::string::npos);
  EXPECT_EQ(glue("void attend(float* out)").find("return (int)attend("), std::string::npos);
}

TEST(Glue, NamesTheParameterThatItCanNotMatch) {
  try {
    glue("void attend(const float* query, float* out)");
    FAIL();
  } catch (const Error& problem) {
    const std::string text = problem.what();
    EXPECT_NE(text.find("nothing is called \"query\""), std::string::npos) << text;
    EXPECT_NE(text.find("q, k, v, out"), std::string::npos) << text;
  }
  EXPECT_THROW(glue("attend(float* out)"), Error);
  EXPECT_THROW(glue("void attend(float* out"), Error);
}

TEST(Glue, TellsADeclarationFromAName) {
  EXPECT_TRUE(is_declaration("void f(int S)"));
  EXPECT_FALSE(is_declaration("flashmoe_attention"));
}

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Ptxas, ReadsResourcesOfEveryKernel) {
  const auto kernels = parse_ptxas(
      "ptxas info    : Compiling entry function '_Z4copyPfPKf' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z4copyPfPKf\n"
      "    256 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 256 bytes cumulative stack size, 50000 bytes "
      "smem\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_80'\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 8 registers\n");
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].name, "copy(float*, float const*)");
  EXPECT_EQ(kernels[0].registers, 40);
  EXPECT_EQ(kernels[0].stack_bytes, 256);
  EXPECT_EQ(kernels[0].spill_bytes, 32);
  EXPECT_EQ(kernels[0].static_smem_bytes, 50000);
  EXPECT_EQ(kernels[1].arch, "sm_80");
  EXPECT_NE(beyond_limits(kernels).find("50000 bytes of static shared memory"), std::string::npos);
}

TEST(Ptxas, LinesThatAreCutShortOrSayNothingAreNoKernels) {
  EXPECT_TRUE(parse_ptxas("").empty());
  EXPECT_TRUE(parse_ptxas("ptxas info    : Used 40 registers\n").empty());
  EXPECT_TRUE(parse_ptxas("ptxas info    : Compiling entry function 'cut off").empty());
  const auto kernels = parse_ptxas(
      "ptxas info    : Compiling entry function 'a' for 'sm_90'\n bytes stack frame, x bytes spill stores\n"
      "registers Used registers, 99999999999 bytes smem\n");
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].registers, 0);
  EXPECT_EQ(kernels[0].stack_bytes, 0);
  EXPECT_EQ(kernels[0].static_smem_bytes, 0);
}

}  // namespace
}  // namespace dent
