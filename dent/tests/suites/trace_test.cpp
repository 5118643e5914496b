// SPDX-License-Identifier: MIT
#include "suites/trace.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "session/dent_program.h"

namespace dent::test::trace_test {
namespace {

void fail(SessionView& view, const std::string& step, Cause cause, const std::string& reason) {
  record::Gate gate;
  gate.step = step;
  gate.verdict = StepVerdict::fail;
  gate.cause = cause;
  gate.reason = reason;
  view.steps.push_back({.step = step, .begun = true, .gate = gate});
}

SessionView measured() {
  SessionView view;
  view.started = "2026-11-16T12:00:00.000Z";
  view.session.device_name = "A device";
  view.build = record::Build{std::string(64, 'a'), {}, {}, 0, {}};
  view.build->compilers = {{"triton", "3.9.0"}};
  record::Correctness tiny, wide, wrong;
  tiny.shape = "tiny";
  wide.shape = "wide";
  wide.max_error = 0.25;
  wide.share_of_bound = 0.5;
  wide.max_relative_error = 0.125;
  wrong.shape = "wrong";
  wrong.verdict = StepVerdict::fail;
  wrong.bad = 3;
  view.correctness = {tiny, wide, wrong};
  record::Comparison speed;
  speed.shape = "wide";
  speed.candidate_ns = 2e6;
  speed.baseline_ns = 3e6;
  speed.ratio = Ratio{.centre = 1.5, .interval = {1.4, 1.6}};
  view.comparisons = {speed};
  fail(view, "correctness/wrong", Cause::incorrect, "3 of 64 elements are wrong");
  return view;
}

Project project(const std::filesystem::path& folder) {
  Project project;
  project.directory = folder;
  project.name = "softmax-of-mine";
  project.op.name = "softmax";
  project.op.inputs.emplace_back().name = "x";
  project.op.parameters = {{"eps", 0.5}};
  for (const char* name : {"tiny", "wide", "wrong"})
    project.shapes.push_back({.name = name, .sizes = {{"rows", 64}}});
  return project;
}

// What the suite's loader insists on: which status has which results, and numbers that are numbers or words
// for what is none.
void expect_loadable(const nlohmann::json& line) {
  EXPECT_NE(line.at("definition"), "");
  EXPECT_NE(line.at("workload").at("uuid"), "");
  const auto& evaluation = line.at("evaluation");
  EXPECT_NE(evaluation.at("environment").at("hardware"), "");
  EXPECT_NE(evaluation.at("timestamp"), "");
  const std::string status = evaluation.at("status");
  EXPECT_EQ(evaluation.contains("performance"), status == "PASSED") << evaluation;
  EXPECT_EQ(evaluation.contains("correctness"), status == "PASSED" || status == "INCORRECT_NUMERICAL")
      << evaluation;
  if (!evaluation.contains("correctness")) return;
  for (const char* error : {"max_absolute_error", "max_relative_error"}) {
    const auto& value = evaluation.at("correctness").at(error);
    EXPECT_TRUE(value.is_number() || value == "NaN" || value == "Infinity") << value;
  }
}

std::vector<nlohmann::json> lines_of(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(nlohmann::json::parse(line));
    expect_loadable(lines.back());
  }
  return lines;
}

TEST(Trace, HasALineForEachShapeThatWasTimedOrFailed) {
  const ScratchProject scratch;
  const auto lines = lines_of(flashinfer_traces(measured(), project(scratch.folder())));
  ASSERT_EQ(lines.size(), 2U);
  const auto& right = lines[0];
  EXPECT_EQ(right.at("definition"), "softmax");
  EXPECT_EQ(right.at("solution"), "softmax-of-mine_aaaaaaaaaaaa");
  EXPECT_EQ(right.at("workload").at("axes"), nlohmann::json({{"rows", 64}}));
  EXPECT_EQ(right.at("workload").at("inputs").at("x").at("type"), "random");
  EXPECT_EQ(right.at("workload").at("inputs").at("eps").at("value"), 0.5);
  EXPECT_EQ(right.at("workload").at("uuid").get<std::string>().size(), 36U);
  const auto& evaluation = right.at("evaluation");
  EXPECT_EQ(evaluation.at("status"), "PASSED");
  EXPECT_EQ(evaluation.at("correctness").at("max_absolute_error"), 0.25);
  EXPECT_EQ(evaluation.at("correctness").at("max_relative_error"), 0.125);  // the suite drops what has none
  EXPECT_EQ(evaluation.at("performance"),
            nlohmann::json({{"latency_ms", 2.0}, {"reference_latency_ms", 3.0}, {"speedup_factor", 1.5}}));
  EXPECT_EQ(evaluation.at("environment").at("hardware"), "A device");
  EXPECT_EQ(evaluation.at("environment").at("libs").at("triton"), "3.9.0");
  EXPECT_EQ(evaluation.at("timestamp"), "2026-11-16T12:00:00.000Z");
  EXPECT_EQ(lines[1].at("evaluation").at("status"), "INCORRECT_NUMERICAL");
  EXPECT_EQ(lines[1].at("evaluation").at("log"), "3 of 64 elements are wrong");
}

TEST(Trace, AnOutputThatIsNotANumberHasNoError) {
  const ScratchProject scratch;
  SessionView view = measured();
  view.correctness[2].first_bad = record::FirstBad{"y[0]", {std::nan("")}, {1.0}};
  const auto lines = lines_of(flashinfer_traces(view, project(scratch.folder())));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1].at("evaluation").at("correctness").at("max_absolute_error"), "NaN");
}

// It was right when it was checked, and has a time.
TEST(Trace, AKernelThatCheatsHasNotPassed) {
  const ScratchProject scratch;
  SessionView view = measured();
  fail(view, "performance/wide", Cause::cheat, "CHEAT: timed calls left undone");
  const auto lines = lines_of(flashinfer_traces(view, project(scratch.folder())));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].at("evaluation").at("status"), "RUNTIME_ERROR");
  EXPECT_EQ(lines[0].at("evaluation").at("log"), "CHEAT: timed calls left undone");
}

TEST(Trace, NamesTheWayInWhichAKernelFailed) {
  const ScratchProject scratch;
  const auto status_after = [&](const std::string& step, Cause cause) {
    SessionView view = measured();
    view.correctness.clear();
    view.comparisons.clear();
    view.steps.clear();
    fail(view, step, cause, "why");
    std::string all;
    for (const auto& line : lines_of(flashinfer_traces(view, project(scratch.folder()))))
      all += line.at("evaluation").at("status").get<std::string>() + " ";
    return all;
  };
  EXPECT_EQ(status_after("build", Cause::build), "COMPILE_ERROR COMPILE_ERROR COMPILE_ERROR ");
  EXPECT_EQ(status_after("build", Cause::environment), "");
  EXPECT_EQ(status_after("correctness/tiny", Cause::incorrect), "RUNTIME_ERROR ");
  EXPECT_EQ(status_after("correctness/tiny", Cause::timeout), "TIMEOUT ");
}

TEST(Trace, OfAnImportedDefinitionNamesItsWorkloadsAndSolution) {
  const ScratchProject scratch;
  scratch.write("definition.json", R"({"name": "softmax_h64", "axes": {}})");
  scratch.write("workloads.json",
                R"({"solution": "online", "shapes": {},)"
                R"( "traced": {"wide": "{\"uuid\": \"w-1\", \"axes\": {\"rows\": 64}, \"inputs\": {}}"}})");
  const auto lines = lines_of(flashinfer_traces(measured(), project(scratch.folder())));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].at("definition"), "softmax_h64");
  EXPECT_EQ(lines[0].at("solution"), "online");
  EXPECT_EQ(lines[0].at("workload").at("uuid"), "w-1");
}

}  // namespace
}  // namespace dent::test::trace_test
