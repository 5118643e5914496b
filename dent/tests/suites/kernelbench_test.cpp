// SPDX-License-Identifier: MIT
// Tasks of our own in KernelBench's format, imported and run on the CPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "project/manifest.h"
#include "session/dent_program.h"
#include "suites/kernelbench.h"
#include "suites/reader.h"
#include "workers/resources.h"

namespace dent::test::kernelbench_test {
namespace {

class KernelBench : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string python = find_python(DENT_SUITE_TASKS, "");
    if (std::system(("'" + python + "' -c 'import torch' >/dev/null 2>&1").c_str()) != 0)
      GTEST_SKIP() << python << " can't import torch";
    setenv("DENT_PYTHON", python.c_str(), 1);
  }

  nlohmann::json import(const std::string& what, int code = 0) const {
    const Finished finished =
        run({.argv = {"/bin/sh", "-c",
                      std::string("'") + DENT_PROGRAM + "' import kernelbench '" + DENT_SUITE_TASKS + what +
                          "' --into '" + scratch_.folder().string() + "' --json 2>/dev/null >'" +
                          (scratch_.folder() / "answer").string() + "'"}},
            240);
    EXPECT_EQ(finished.ending.code, code);
    return nlohmann::json::parse(scratch_.read("answer"));
  }

  Ran check(const std::string& name) const {
    const std::string out = (scratch_.folder() / "out").string(), err = (scratch_.folder() / "err").string();
    const Finished finished =
        run({.argv = {"/bin/sh", "-c",
                      std::string("'") + DENT_PROGRAM + "' check -p '" + (scratch_.folder() / name).string() +
                          "' >'" + out + "' 2>'" + err + "'"}},
            240);
    return {finished.ending.code, scratch_.read("out"), scratch_.read("err")};
  }

  const ScratchProject scratch_;
};

TEST_F(KernelBench, AFolderIsImportedOrRefusedWithReasons) {
  const auto answer = import("");
  EXPECT_EQ(answer.at("imported"), 7);
  std::map<std::string, nlohmann::json> tasks;
  for (const auto& task : answer.at("tasks"))
    tasks[std::filesystem::path(task.at("task").get<std::string>()).stem().string()] = task;
  ASSERT_EQ(tasks.size(), 11U);
  EXPECT_NE(tasks["6_random"].at("refused").get<std::string>().find("random"), std::string::npos);
  EXPECT_NE(tasks["7_exits"].at("refused").get<std::string>().find("status 3"), std::string::npos);
  EXPECT_NE(tasks["8_no_task"].at("refused").get<std::string>().find("class Model"), std::string::npos);
  EXPECT_NE(tasks["10_noise"].at("refused").get<std::string>().find("rounding errors"), std::string::npos);
  const auto notes = [&](const char* task) { return tasks[task].at("notes").dump(); };
  EXPECT_NE(notes("2_linear").find("dropout is switched off"), std::string::npos);
  EXPECT_NE(notes("4_batch_norm").find("norm.running_mean"), std::string::npos);
  EXPECT_NE(notes("4_batch_norm").find("norm.num_batches_tracked and 3 more"), std::string::npos)
      << notes("4_batch_norm");
  EXPECT_NE(notes("5_large").find("batch = 16384"), std::string::npos) << "the published sizes are told";
  EXPECT_NE(notes("5_large").find(" GiB; cut to fit 2.0 GiB"), std::string::npos) << notes("5_large");

  // What the importer wrote is a project, with dimensions that follow from the sizes.
  const Project scale = read_project(scratch_.folder() / "1_scale");
  EXPECT_EQ(scale.op.inputs.at(0).dims, (std::vector<std::string>{"rows", "columns"}));
  EXPECT_EQ(scale.op.inputs.at(0).fill.kind, Fill::Kind::uniform);
  EXPECT_EQ(scale.op.parameters.at("factor"), 2.5);
  EXPECT_EQ(scale.shapes.front().name, "tiny");
  EXPECT_FALSE(scale.shapes.front().timed());
  EXPECT_EQ(scale.shapes.back().name, "published");
  EXPECT_EQ(scale.shapes.back().sizes.at("columns"), 3072);
  const Project linear = read_project(scratch_.folder() / "2_linear");
  EXPECT_EQ(linear.op.inputs.at(1).name, "gain");
  EXPECT_EQ(linear.op.inputs.at(1).dims, (std::vector<std::string>{"1"}));
  EXPECT_EQ(linear.op.inputs.at(2).name, "up_weight");
  EXPECT_EQ(linear.op.inputs.at(2).dims, (std::vector<std::string>{"hidden", "width"}));
  EXPECT_TRUE(linear.op.inputs.at(2).constant);
  const Project masked = read_project(scratch_.folder() / "3_masked_sum");
  EXPECT_EQ(masked.op.inputs.at(1).dtype, DType::boolean);
  EXPECT_EQ(masked.op.inputs.at(1).fill.kind, Fill::Kind::python);
  EXPECT_EQ(masked.op.inputs.at(2).dtype, DType::int64);
  const Project norm = read_project(scratch_.folder() / "4_batch_norm");
  EXPECT_EQ(norm.op.inputs.at(0).dims, (std::vector<std::string>{"batch", "channels", "height", "width"}));
  const Project large = read_project(scratch_.folder() / "5_large");
  EXPECT_EQ(large.shapes.back().name, "cut");
  EXPECT_EQ(large.shapes.back().sizes.at("kernel_size"), 5);

  const Project groups = read_project(scratch_.folder() / "9_group_norm");
  EXPECT_GE(groups.shapes.front().sizes.at("channels"), 4 * groups.shapes.front().sizes.at("groups"));

  for (const char* name :
       {"1_scale", "2_linear", "3_masked_sum", "4_batch_norm", "9_group_norm", "11_reads_a_value"}) {
    const Ran ran = check(name);
    EXPECT_EQ(ran.code, 0) << name << ": " << ran.out << ran.err;
  }
}

// The task's own model as the candidate is right; one that forgets a weight is not.
TEST_F(KernelBench, AWrongCandidateIsWrong) {
  EXPECT_EQ(import("/2_linear.py").at("imported"), 1);
  scratch_.write("2_linear/candidate.py",
                 "import torch\n\n\ndef forward(x, gain, up_weight, up_bias, offset, batch, width, hidden):\n"
                 "    return torch.tanh(gain * (x @ up_weight.T) + offset / 100)\n");
  const Ran ran = check("2_linear");
  EXPECT_EQ(ran.code, 5) << ran.out << ran.err;
  EXPECT_NE(ran.err.find("elements are wrong"), std::string::npos) << ran.err;
  EXPECT_NE(
      import("/2_linear.py", 2).at("tasks").at(0).at("refused").get<std::string>().find("there already"),
      std::string::npos);
}

// Inputs that don't fit are found in the middle of a session: its status alone told nobody what was wrong.
TEST_F(KernelBench, ASuitesRowSaysWhyASessionEndedWithoutAVerdict) {
  EXPECT_EQ(import("/2_linear.py").at("imported"), 1);
  scratch_.write("2_linear/glue.py",
                 scratch_.read("2_linear/glue.py") +
                     "\n\ndef inputs(*_):\n    import torch\n\n    return [torch.zeros(3)] * 4\n");
  run({.argv = {"/bin/sh", "-c",
                std::string("'") + DENT_PROGRAM + "' suite run '" + scratch_.folder().string() +
                    "' --json --without preflight --without profile >'" +
                    (scratch_.folder() / "suite.json").string() + "' 2>'" +
                    (scratch_.folder() / "suite.err").string() + "'"}},
      240);
  const auto rows = nlohmann::json::parse(scratch_.read("suite.json")).at("rows");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NE(rows.at(0).at("reason").get<std::string>().find("gain has shape [3]; it must be [1]"),
            std::string::npos)
      << rows;
}

TEST(KernelBenchTasks, ComeInTheOrderOfTheirNumbers) {
  const auto tasks = kernelbench_tasks(DENT_SUITE_TASKS);
  ASSERT_EQ(tasks.size(), 11U);
  EXPECT_EQ(tasks.front().filename(), "1_scale.py");
  EXPECT_EQ(tasks.back().filename(), "11_reads_a_value.py");
}

}  // namespace
}  // namespace dent::test::kernelbench_test
