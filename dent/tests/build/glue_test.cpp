// SPDX-License-Identifier: MIT
#include "build/glue.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/sha256.h"
#include "build/ptxas.h"
#include "operators/attention.h"

namespace dent::glue_test {
namespace {

const Shape kShape{"tiny", {{"S", 32}}};

std::string glue(const std::string& declaration, bool cuda = false) {
  return glue_source({.function = parse_declaration(declaration), .cuda = cuda}, attention_forward({}),
                     kShape);
}

void expect_has(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

Operator of_tensors(std::vector<TensorRule> inputs, std::vector<TensorRule> outputs) {
  Operator op;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  op.reference.kind = Reference::Kind::python;
  return op;
}

TEST(Glue, MatchesParametersByName) {
  expect_has(
      glue("void attend(float* out, const float *q, const float* k, const float* v, int S, float scale)"),
      "attend((float*)call->outputs[0].data, (const float *)call->inputs[0].data, (const "
      "float*)call->inputs[1].data, "
      "(const float*)call->inputs[2].data, (int)dent_value(call, \"S\"), (float)dent_value(call, "
      "\"scale\"))");
}

TEST(Glue, WhatIsUpdatedInPlaceIsTheOutput) {
  const Operator op = of_tensors({{"x", DType::fp32, {"n"}, {}}, {"y", DType::fp32, {"n"}, {}}},
                                 {{"y", DType::fp32, {"n"}, {}}});
  expect_has(glue_source({.function = parse_declaration("void saxpy(int n, const float* x, float* y)")}, op,
                         {"tiny", {{"n", 5}}}),
             "(const float*)call->inputs[0].data, (float*)call->outputs[0].data)");
}

TEST(Glue, ScratchLiesBehindTheOutputs) {
  Operator op = of_tensors({{"x", DType::fp32, {"n"}, {}}}, {{"y", DType::fp32, {"n"}, {}}});
  op.scratch = {{"sums", DType::fp64, {"n"}, {}}};
  expect_has(
      glue_source({.function = parse_declaration("void f(const float* x, double sums[], float* y)")}, op,
                  {"tiny", {{"n", 5}}}),
      "f((const float*)call->inputs[0].data, (double*)call->outputs[1].data, (float*)call->outputs[0].data)");
}

TEST(Glue, PassesTheStreamAndChecksTheLaunch) {
  const std::string source = glue("void attend(const half* q, half* out, cudaStream_t stream)", true);
  expect_has(source, "(cudaStream_t)call->stream");
  expect_has(source, "cudaGetLastError()");
  expect_has(source, "#include <cuda_fp16.h>");
}

TEST(Glue, LaunchesAGlobalFunctionAsTheManifestSays) {
  const Operator op = of_tensors({{"a", DType::fp32, {"n"}, {}}}, {{"b", DType::fp32, {"n"}, {}}});
  const Shape shape{"tiny", {{"n", 5}}};
  GlueRequest request{.function = parse_declaration("__global__ void add(const float* a, float* b, int n)"),
                      .cuda = true};
  EXPECT_THROW(glue_source(request, op, shape), Error);  // there is no launch rule
  request.launch.grid = "ceil(n/TILE), max(1, n)";
  request.launch.block = "32, TILE/8";
  request.launch.smem = "4*n";
  EXPECT_THROW(glue_source(request, op, shape), Error);  // TILE is unknown
  request.macros = {"TILE"};
  const std::string source = glue_source(request, op, shape);
  expect_has(source,
             "add<<<dent_dims(ceil(dent_value(call, \"n\")/(double)(TILE)), fmax((double)1, dent_value(call, "
             "\"n\"))), dent_dims((double)32, (double)(TILE)/(double)8), "
             "(size_t)((double)4*dent_value(call, \"n\")), (cudaStream_t)call->stream>>>(");
  expect_has(source, "cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize");
  expect_has(source, "cudaGetLastError()");
  request.launch.cluster = "2";
  EXPECT_THROW(glue_source(request, op, shape), Error);
}

TEST(Glue, AnInstanceOfATemplateIsCalledWithItsSource) {
  const Operator op = of_tensors({{"a", DType::fp32, {"n"}, {}}}, {{"b", DType::fp32, {"n"}, {}}});
  GlueRequest request{
      .function = parse_declaration("void detail::add<4, float>(const float* a, float* b, int n)"),
      .includes = {"/x/add.hpp"},
      .included = true};
  const std::string source = glue_source(request, op, {"tiny", {{"n", 5}}});
  expect_has(source, "#include \"/x/add.hpp\"");
  expect_has(source, "\n  detail::add<4, float>((const float*)call->inputs[0].data");
  EXPECT_EQ(source.find("void detail::add"), std::string::npos) << source;  // the included source declares it
}

TEST(Glue, AFunctionOfALibraryIsLoadedByItsCName) {
  const Operator op = of_tensors({{"a", DType::fp32, {"n"}, {}}}, {{"b", DType::fp32, {"n"}, {}}});
  const std::string source =
      glue_source({.function = parse_declaration("int add(const float* restrict a, float* b, size_t n)"),
                   .c_linkage = true,
                   .library = "/x/library.so"},
                  op, {"tiny", {{"n", 5}}});
  expect_has(source, "extern \"C\" int add(const float* restrict a, float* b, size_t n);");
  expect_has(source, "#define restrict __restrict");
  expect_has(source, "dlopen(\"/x/library.so\"");
  expect_has(source, "return (int)dent_loaded_add()(");
}

Operator with_weights() {
  TensorRule weights{"w", DType::fp32, {"n"}, {}};
  weights.constant = true;
  return of_tensors({{"x", DType::fp32, {"n"}, {}}, weights}, {{"y", DType::fp32, {"n"}, {}}});
}

std::string glue_with_setup(const std::string& setup, const std::string& library = "") {
  return glue_source({.function = parse_declaration("void f(const float* x, const float* setup, float* y)"),
                      .c_linkage = !library.empty(),
                      .library = library,
                      .setup = parse_declaration(setup)},
                     with_weights(), {"tiny", {{"n", 5}}});
}

TEST(Glue, ASetupTakesConstantInputsAndLeavesAPointer) {
  const std::string source = glue_with_setup("float* pack(const float* w, int n, float* setup)");
  expect_has(source, "float* pack(const float* w, int n, float* setup);");
  expect_has(source,
             "f((const float*)call->inputs[0].data, (const float*)call->setup, (float*)call->outputs");
  expect_has(source,
             "*setup = (void*)pack((const float*)call->inputs[0].data, (int)dent_value(call, \"n\"), "
             "(float*)*setup);\n  if (*setup == nullptr) return 1;");
  expect_has(glue_with_setup("int pack(const float* w)"), "return (int)pack(");
  expect_has(glue_with_setup("float* pack(const float* w)", "/x/library.so"),
             "*setup = (void*)dent_loaded_pack()(");
}

TEST(Glue, ASetupGetsNothingThatChangesFromCallToCall) {
  for (const char* setup : {"float* pack(const float* x)", "float* pack(float* y)"}) {
    try {
      glue_with_setup(setup);
      ADD_FAILURE() << setup;
    } catch (const Error& problem) {
      expect_has(problem.what(), "is not a constant input");
      expect_has(problem.what(), "known names are w, n, stream, setup");
    }
  }
  EXPECT_THROW(glue_with_setup("__global__ void pack(const float* w)"), Error);
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
    expect_has(text, "parameter \"query\" is unknown");
    expect_has(text, "q, k, v, out");
    expect_has(text, "scratch.query = { shape");
  }
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
}  // namespace dent::glue_test
