// SPDX-License-Identifier: MIT
#include "suites/trace.h"

#include <gtest/gtest.h>

#include <sstream>

#include "session/dent_program.h"

namespace dent::test {
namespace {

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
  return view;
}

Project project(const std::filesystem::path& folder) {
  Project project;
  project.directory = folder;
  project.name = "softmax-of-mine";
  project.op.name = "softmax";
  project.op.inputs.emplace_back().name = "x";
  project.op.parameters = {{"eps", 0.5}};
  Shape& wide = project.shapes.emplace_back();
  wide.name = "wide";
  wide.sizes = {{"rows", 64}};
  return project;
}

std::vector<nlohmann::json> lines_of(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST(Trace, HasALineForEachShapeThatWasTimedOrIsWrong) {
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
  EXPECT_EQ(evaluation.at("performance"),
            nlohmann::json({{"latency_ms", 2.0}, {"reference_latency_ms", 3.0}, {"speedup_factor", 1.5}}));
  EXPECT_EQ(evaluation.at("environment").at("hardware"), "A device");
  EXPECT_EQ(evaluation.at("environment").at("libs").at("triton"), "3.9.0");
  EXPECT_EQ(evaluation.at("timestamp"), "2026-11-16T12:00:00.000Z");
  EXPECT_EQ(lines[1].at("evaluation").at("status"), "INCORRECT_NUMERICAL");
  EXPECT_FALSE(lines[1].at("evaluation").contains("performance"));
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
}  // namespace dent::test
