// SPDX-License-Identifier: MIT
#include "project/manifest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "project/templates.h"
#include "records/json.h"

namespace dent::manifest_test {
namespace {

const std::string kMinimal = R"(version = 1
[kernel]
sources = ["kernel.cpp"]
entry = "run"
[baseline.old]
python = "old:run"
[operator]
kind = "attention.forward"
[[shapes]]
name = "tiny"
S = 32
)";

Project parse(const std::string& text) { return parse_project(text, "/somewhere/my-kernel"); }

std::string error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& problem) {
    EXPECT_EQ(problem.code(), ErrorCode::invalid);
    return problem.what();
  }
  return "no error";
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

void expect_mentions(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words)
    EXPECT_NE(text.find(word), std::string::npos) << word << " is not in: " << text;
}

TEST(Manifest, NeedsNoMoreThanElevenLines) {
  const Project project = parse(kMinimal);
  EXPECT_EQ(project.name, "my-kernel");
  EXPECT_EQ(project.kernel.device, DeviceKind::cpu);
  EXPECT_EQ(project.baselines.at(0).python, "old:run");
  EXPECT_EQ(project.shapes.at(0).sizes.at("S"), 32);
}

const std::string kSaxpy = R"toml(version = 1
shapes = [{ name = "tiny", n = 32 }]
[kernel]
sources = ["saxpy.cpp"]
entry = "void saxpy(int n, float a, const float* x, float* y)"
[baseline.old]
python = "old:run"
[operator]
name = "saxpy"
inputs.x = { shape = ["n"] }
inputs.y = { shape = ["n"] }
outputs.y = { shape = ["n"] }
parameters = { a = 2.5 }
reference = { python = "old:run" }
)toml";

TEST(Manifest, TheFamilyOfAnOperatorFollowsFromItsNameOrIsSaid) {
  EXPECT_EQ(parse(kMinimal).op.family, Family::attention);
  EXPECT_EQ(parse(kSaxpy).op.family, Family::other);
  const std::string gemm = replaced(kSaxpy, "name = \"saxpy\"", "name = \"sgemm\"");
  EXPECT_EQ(parse(gemm).op.family, Family::matmul);
  EXPECT_EQ(parse(replaced(gemm, "name = \"sgemm\"", "name = \"sgemm\"\nfamily = \"other\"")).op.family,
            Family::other);
  expect_mentions(error_of(replaced(gemm, "name = \"sgemm\"", "name = \"sgemm\"\nfamily = \"blas\"")),
                  {"family", "blas", "matmul"});
}

TEST(Manifest, AnOutputWithTheNameOfAnInputIsUpdatedInPlace) {
  const Project project = parse(kSaxpy);
  const Problem problem = make_problem(project.op, project.shapes.at(0));
  EXPECT_EQ(problem.outputs.at(0).updates, 1);
  expect_mentions(
      error_of(replaced(kSaxpy, "outputs.y = { shape = [\"n\"] }", "outputs.y = { shape = [\"2*n\"] }")),
      {"y has an input's name", "another type or shape"});
}

TEST(Manifest, AnInputMayHoldOneValueThroughout) {
  const auto filled = [](const std::string& fill) {
    return replaced(kSaxpy, "inputs.y = { shape = [\"n\"] }",
                    "inputs.y = { shape = [\"n\"], fill = " + fill + " }");
  };
  const auto value_of = [&](const std::string& fill) {
    const Fill read = parse(filled(fill)).op.inputs.at(1).fill;
    EXPECT_EQ(read.kind, Fill::Kind::constant) << fill;
    return read.low;
  };
  EXPECT_EQ(value_of("\"zeros\""), 0);
  EXPECT_EQ(value_of("\"ones\""), 1);
  EXPECT_EQ(value_of("-2.5"), -2.5);
  EXPECT_EQ(value_of("-inf"), -INFINITY);
  EXPECT_EQ(value_of("\"-inf\""), -INFINITY);
  // As --dump-config writes it, so that a session knows its project again.
  const Project project = parse(filled("-inf"));
  EXPECT_TRUE(same_project(effective_config(project), project));
  EXPECT_FALSE(same_project(effective_config(project), parse(filled("\"zeros\""))));
  expect_mentions(error_of(filled("nan")), {"inputs.y.fill", "no number of type fp32"});
  expect_mentions(error_of(filled("\"zero\"")), {"accepted are", "zeros", "-inf"});
  expect_mentions(error_of(filled("1.5, dtype = \"int32\"")), {"no number of type int32"});
  expect_mentions(error_of(replaced(filled("1"), "inputs.x = { shape = [\"n\"] }",
                                    "inputs.x = { shape = [\"n\"], fill = \"zeros\" }")),
                  {"all constant"});
}

TEST(Manifest, AKernelMayHaveScratchOfItsOwn) {
  const Project project = parse(
      replaced(kSaxpy, "parameters", "scratch.sums = { shape = [\"n\", 4], dtype = \"fp64\" }\nparameters"));
  ASSERT_EQ(project.op.scratch.size(), 1U);
  EXPECT_EQ(make_problem(project.op, project.shapes.at(0)).outputs.at(1).sizes,
            (std::vector<std::int64_t>{32, 4}));
  EXPECT_FALSE(same_project(effective_config(project), parse(kSaxpy)));
  expect_mentions(error_of(replaced(kSaxpy, "parameters", "scratch.x = { shape = [\"n\"] }\nparameters")),
                  {"scratch", "x has the name of an input or output"});
}

TEST(Manifest, AKernelMayHaveASetup) {
  const auto with = [](const std::string& setup) {
    return replaced(kMinimal, "entry = \"run\"\n", "entry = \"run\"\n" + setup + "\n");
  };
  EXPECT_EQ(parse(with("setup = \"pack\"")).kernel.setup, "pack");
  EXPECT_EQ(parse(kMinimal).kernel.setup, "");
  expect_mentions(effective_config(parse(with("setup = \"pack\""))), {"\"setup\"", "pack"});
  expect_mentions(error_of(with("setup = \"float* pack(const float* w)\"")), {"both as declarations"});
  expect_mentions(
      error_of(replaced(kMinimal, "python = \"old:run\"\n", "python = \"old:run\"\nsetup = \"pack\"\n")),
      {"the setup of its module", "def setup"});
}

TEST(Manifest, ACudaHeaderIsAKernelForAGpu) {
  EXPECT_EQ(parse(replaced(kMinimal, "kernel.cpp", "kernel.cuh")).kernel.device, DeviceKind::cuda);
}

TEST(Manifest, AnswersAnUnknownKeyWithTheNearestOne) {
  expect_mentions(error_of(replaced(kMinimal, "entry =", "entyr = \"a\"\nentry =")),
                  {"line 4", "kernel.entyr", "no such key", "did you mean \"entry\"?"});
  expect_mentions(error_of(kMinimal + "[perfomance]\nseconds = 1\n"),
                  {"perfomance", "did you mean \"performance\"?"});
  expect_mentions(error_of(kMinimal + "[performance]\nzzzzzz = 1\n"),
                  {"performance.zzzzzz", "accepted here are", "seconds"});
}

TEST(Manifest, SaysWhatIsMissing) {
  expect_mentions(error_of(replaced(kMinimal, "version = 1", "")), {"version", "reads version 1"});
  expect_mentions(error_of(replaced(kMinimal, "version = 1", "version = 2")), {"version", "is 2"});
  expect_mentions(error_of(replaced(kMinimal, "entry = \"run\"", "")), {"entry", "missing"});
  expect_mentions(error_of(replaced(kMinimal, "python = \"old:run\"", "python = \"old\"")),
                  {"baseline.old.python", "module:function"});
  expect_mentions(error_of(replaced(kMinimal, "S = 32", "")), {"neither Sq nor S"});
  expect_mentions(error_of(replaced(kMinimal, "sources = [\"kernel.cpp\"]", "")),
                  {"one of sources, library and python"});
}

TEST(Manifest, IntegersAreWhatTheirTypeHolds) {
  const auto with = [](const std::string& input) {
    return replaced(kSaxpy, "inputs.x = { shape = [\"n\"]", "inputs.x = { shape = [\"n\"], " + input);
  };
  const Fill bytes = parse(with("dtype = \"uint8\"")).op.inputs.at(0).fill;
  EXPECT_EQ(bytes.kind, Fill::Kind::integers);
  EXPECT_EQ(bytes.high, 255);
  EXPECT_EQ(parse(with("dtype = \"bool\"")).op.inputs.at(0).fill.high, 1);
  EXPECT_EQ(parse(with("dtype = \"int8\", low = -7")).op.inputs.at(0).fill.low, -7);
  EXPECT_EQ(parse(with("dtype = \"fp8_e4m3\"")).op.inputs.at(0).fill.kind, Fill::Kind::normal);
  expect_mentions(error_of(with("dtype = \"int8\", high = 128")), {"high", "is 128", "-128 to 127"});
  expect_mentions(error_of(with("dtype = \"bool\", fill = \"normal\"")), {"fill", "none for bool"});
  expect_mentions(error_of(with("dtype = \"uint8\", fill = -1")), {"fill", "no number of type uint8"});
  expect_mentions(error_of(with("dtype = \"fp7\"")), {"fp8_e4m3", "bool"});
}

TEST(Manifest, InputsMayComeFromAFunction) {
  const std::string made = replaced(kSaxpy, "inputs.x = { shape = [\"n\"] }",
                                    "inputs_from = { python = \"task:inputs\" }\n"
                                    "inputs.x = { shape = [\"n\"], fill = \"python\", constant = true }");
  const Project project = parse(made);
  EXPECT_EQ(project.op.inputs_from, "task:inputs");
  const Problem problem = make_problem(project.op, project.shapes.at(0));
  EXPECT_TRUE(problem.inputs.at(0).made());
  EXPECT_TRUE(problem.inputs.at(0).constant);
  EXPECT_TRUE(problem.has_made());
  EXPECT_FALSE(problem.has_sets());
  EXPECT_TRUE(
      make_problem(parse(replaced(made, ", constant = true", "")).op, project.shapes.at(0)).has_sets());
  expect_mentions(error_of(replaced(made, "inputs_from = { python = \"task:inputs\" }\n", "")),
                  {"inputs_from", "who makes the inputs"});
  expect_mentions(error_of(replaced(made, "fill = \"python\", ", "")), {"inputs_from", "makes no input"});
  expect_mentions(error_of(replaced(made, "task:inputs", "task")), {"module:function"});
  expect_mentions(error_of(replaced(made, "inputs.y = { shape = [\"n\"] }",
                                    "inputs.y = { shape = [\"n\"], constant = true }")),
                  {"all constant"});
}

TEST(Manifest, AShapeHasAWeight) {
  const Project project = parse(replaced(kMinimal, "S = 32", "S = 32\nweight = 0") +
                                "[[shapes]]\nname = \"served\"\nS = 64\nweight = 2.5\n");
  EXPECT_FALSE(project.shapes.at(0).timed());
  EXPECT_EQ(project.shapes.at(1).weight, 2.5);
  EXPECT_EQ(project.shapes.at(1).sizes.count("weight"), 0U);
  EXPECT_EQ(make_problem(project.op, project.shapes.at(1)).weight, 2.5);
  expect_mentions(error_of(replaced(kMinimal, "S = 32", "S = 32\nweight = 0")),
                  {"all have weight 0", "nothing would be timed"});
  expect_mentions(error_of(replaced(kMinimal, "S = 32", "S = 32\nweight = -1")), {"weight", "0 or more"});
  expect_mentions(error_of(replaced(kMinimal, "S = 32", "S = 32\nweight = 0") +
                           "[[shapes]]\nname = \"served\"\nS = 64\n[optimize]\ntarget_shape = \"tiny\"\n"),
                  {"target_shape", "has weight 0"});
}

TEST(Manifest, RefusesValuesOfTheWrongKind) {
  expect_mentions(error_of(replaced(kMinimal, "S = 32", "S = \"32\"")), {"shapes[0].S", "must be a number"});
  expect_mentions(error_of(kMinimal + "[performance]\nseconds = -1\n"), {"must be above 0"});
  expect_mentions(error_of(replaced(kMinimal, "attention.forward", "attention.sideways")),
                  {"accepted are attention.forward"});
  expect_mentions(error_of("version = 1\n[kernel\n"), {"line 2"});
  expect_mentions(error_of(kMinimal + "[[shapes]]\nname = \"tiny\"\nS = 64\n"), {"\"tiny\" is there twice"});
}

TEST(Manifest, ReplacesVariablesOfTheEnvironment) {
  setenv("DENT_TEST_FOLDER", "/opt/x", 1);
  const Project project = parse(
      replaced(kMinimal, "entry = \"run\"",
               "entry = \"run\"\nlink = [\"${DENT_TEST_FOLDER}/a.so\", \"${DENT_TEST_NONE:-up}/b.so\"]"));
  EXPECT_EQ(project.kernel.link, (std::vector<std::string>{"/opt/x/a.so", "up/b.so"}));
}

TEST(Manifest, SaysWhetherThereIsToBeACell) {
  EXPECT_EQ(parse(kMinimal).sandbox, Sandbox::automatic);
  const Project project = parse(
      replaced(kMinimal, "version = 1", "version = 1\nsandbox = \"required\"\nvisible = [\"/opt/data\"]") +
      "[limits]\nprocesses = 64\ncores = 1.5\n[optimize]\ncommand_sandbox = \"off\"\n"
      "command_network = true\ncommand_env = [\"TOKEN\"]\ncommand_paths = [\"/opt/agent\"]\n");
  EXPECT_EQ(project.sandbox, Sandbox::required);
  EXPECT_EQ(project.visible, std::vector<std::string>{"/opt/data"});
  EXPECT_EQ(project.limits.processes, 64);
  EXPECT_EQ(project.limits.cores, 1.5);
  EXPECT_EQ(project.optimize.command_sandbox, Sandbox::off);
  EXPECT_TRUE(project.optimize.command_network);
  EXPECT_EQ(project.optimize.command_env, std::vector<std::string>{"TOKEN"});
  EXPECT_EQ(project.optimize.command_paths, std::vector<std::string>{"/opt/agent"});
  expect_mentions(error_of(replaced(kMinimal, "version = 1", "version = 1\nsandbox = \"on\"")),
                  {"sandbox", "\"on\"", "required"});
  EXPECT_TRUE(same_project(effective_config(project), project));
}

TEST(Manifest, DescribesAnOperatorThatNobodyKnows) {
  const auto files = project_template("custom", "cpp", "soft");
  const Project project = parse(files.at(0).content);
  EXPECT_EQ(project.name, "soft");
  EXPECT_EQ(project.op.reference.entry, "reference:softmax");
  const Problem problem = make_problem(project.op, project.shapes.at(1));
  EXPECT_EQ(problem.inputs.at(0).sizes, (std::vector<std::int64_t>{64, 4096}));
  EXPECT_EQ(problem.flops, 5.0 * 64 * 4096);
}

TEST(Manifest, TheFirstRungReadsTheTunablesThatItNames) {
  const std::string tunables = "[tunables]\nROWS = [64, 32]\nWARPS = [1, 2]\n[operator]";
  const std::string all = replaced(kMinimal, "[operator]", tunables);
  EXPECT_EQ(parse(all).kernel.defines.size(), 2U);
  const Project project = parse(replaced(all, "entry =", "tunables = [\"ROWS\"]\nentry ="));
  ASSERT_EQ(project.kernel.defines.size(), 1U);
  EXPECT_EQ(project.kernel.defines[0], std::pair(std::string("ROWS"), std::string("64")));
  expect_mentions(error_of(replaced(all, "entry =", "tunables = [\"COLUMNS\"]\nentry =")),
                  {"kernel.tunables", "\"COLUMNS\" is not in [tunables]"});
}

TEST(Manifest, EveryTemplateIsAValidOne) {
  for (const char* kind : {"attention", "attention-backward", "custom"}) {
    for (const char* language : {"cpp", "cuda"}) {
      const auto files = project_template(kind, language, "x");
      EXPECT_NO_THROW(parse(files.at(0).content)) << kind << " " << language;
    }
  }
  EXPECT_THROW(project_template("convolution", "cpp", "x"), Error);
  EXPECT_THROW(project_template("custom", "rust", "x"), Error);
  EXPECT_NO_THROW(parse(project_template("triton", "", "x").at(0).content));
  EXPECT_THROW(project_template("triton", "cuda", "x"), Error) << "it would be ignored";
  const std::string odd = "my \"fast\" op\\2";
  for (const char* kind : {"attention", "attention-backward", "custom", "triton"})
    EXPECT_EQ(parse(project_template(kind, "", odd).at(0).content).name, odd) << kind;
}

TEST(Manifest, ShowsEveryDefaultInItsEffectiveForm) {
  const auto config = require_json(effective_config(parse(kMinimal)));
  EXPECT_EQ(config.at("correctness").at("seeds"), 3);
  EXPECT_EQ(config.at("performance").at("stop_below"), 0.5);
  EXPECT_EQ(config.at("operator").at("inputs").at("q").at("dtype"), "fp32");
}

}  // namespace
}  // namespace dent::manifest_test
