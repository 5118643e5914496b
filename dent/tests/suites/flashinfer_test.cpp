// SPDX-License-Identifier: MIT
// Definitions of our own in FlashInfer-Bench's format and in SOL-ExecBench's layout, imported and run on the
// CPU.
#include "suites/flashinfer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>

#include "project/manifest.h"
#include "session/dent_program.h"
#include "workers/resources.h"

namespace dent::test::flashinfer_test {
namespace {

namespace fs = std::filesystem;

class FlashInfer : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string python = find_python(DENT_SUITES, "");
    if (std::system(("'" + python + "' -c 'import torch' >/dev/null 2>&1").c_str()) != 0)
      GTEST_SKIP() << python << " can't import torch";
    setenv("DENT_PYTHON", python.c_str(), 1);
  }

  Ran dent(const std::string& arguments) const {
    const std::string folder = scratch_.folder().string();
    const Finished finished = run(
        {.argv = {"/bin/sh", "-c",
                  "'" DENT_PROGRAM "' " + arguments + " >'" + folder + "/stdout' 2>'" + folder + "/stderr'"}},
        240);
    return {finished.ending.code, scratch_.read("stdout"), scratch_.read("stderr")};
  }
  std::map<std::string, nlohmann::json> import(const fs::path& what) const {
    const Ran ran =
        dent("import flashinfer '" + what.string() + "' --into '" + projects().string() + "' --json");
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    std::map<std::string, nlohmann::json> tasks;
    const nlohmann::json answer = ran.json();
    for (const auto& task : answer.at("tasks")) {
      const fs::path file = task.at("task").get<std::string>();
      tasks[file.stem() == "definition" ? file.parent_path().filename().string() : file.stem().string()] =
          task;
    }
    return tasks;
  }
  fs::path projects() const { return scratch_.folder() / "projects"; }

  const ScratchProject scratch_;
};

// indptr = [0, 1, 1, 6], indices = [7, 0, 1, 2, 3, 63], int32.
std::string pages_file() {
  const std::int32_t values[] = {0, 1, 1, 6, 7, 0, 1, 2, 3, 63};
  const std::string header = R"({"indptr":{"dtype":"I32","shape":[4],"data_offsets":[0,16]},)"
                             R"("indices":{"dtype":"I32","shape":[6],"data_offsets":[16,40]}})";
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  file += header;
  return file.append(reinterpret_cast<const char*>(values), sizeof values);
}

TEST_F(FlashInfer, ATraceSetIsImportedOrRefusedWithReasons) {
  const fs::path set = scratch_.folder() / "set";
  fs::copy(fs::path(DENT_SUITES) / "trace", set, fs::copy_options::recursive);
  fs::create_directories(set / "blobs");
  scratch_.write("set/blobs/pages.safetensors", pages_file());
  auto tasks = import(set);
  ASSERT_EQ(tasks.size(), 6U);
  EXPECT_NE(tasks["noise"].at("refused").get<std::string>().find("random"), std::string::npos);
  EXPECT_NE(tasks["four_bits"].at("refused").get<std::string>().find("float4_e2m1"), std::string::npos);
  EXPECT_EQ(
      tasks["unknown_codes"].at("refused"),
      "no rule for the values of codes: values and scales, packed one behind the other in a way that only "
      "their writer knows");
  EXPECT_NE(tasks["scaled_norm_h64"].at("notes").dump().find("1 of 4 workloads need up to 8.2 GiB"),
            std::string::npos);
  EXPECT_NE(tasks["double"].at("notes").dump().find("no workloads"), std::string::npos);

  const Project norm = read_project(projects() / "scaled_norm_h64");
  EXPECT_EQ(norm.op.inputs.at(0).dims, (std::vector<std::string>{"batch_size", "hidden"}));
  EXPECT_TRUE(norm.op.inputs.at(1).constant) << "weights";
  EXPECT_EQ(norm.op.parameters.at("eps"), 1e-5);
  EXPECT_EQ(norm.shapes.back().sizes.at("batch_size"), 300);
  for (const char* name : {"scaled_norm_h64", "mean_of_pages_d16", "double"}) {
    const Ran ran = dent("check -p '" + (projects() / name).string() + "'");
    EXPECT_EQ(ran.code, 0) << name << ": " << ran.out << ran.err;
  }
  // The pages that the workload names: the second sequence has none, so its logarithm is -inf.
  scratch_.write("projects/mean_of_pages_d16/candidate.py",
                 "import glue\n\n\ndef run(cache, kv_indptr, kv_indices):\n"
                 "    if len(cache) == 64:\n"
                 "        assert kv_indptr.tolist() == [0, 1, 1, 6] and kv_indices[-1] == 63\n"
                 "    return glue.run(cache, kv_indptr, kv_indices)\n");
  const Ran pages = dent("check -p '" + (projects() / "mean_of_pages_d16").string() + "'");
  EXPECT_EQ(pages.code, 0) << pages.out << pages.err;
}

TEST_F(FlashInfer, CustomInputsAndAWrongCandidate) {
  auto tasks = import(fs::path(DENT_SUITES) / "custom");
  ASSERT_EQ(tasks.size(), 2U);
  for (const auto& [name, task] : tasks)
    EXPECT_EQ(task.value("notes", nlohmann::json::array()).dump().find("no workloads"), std::string::npos)
        << name;
  EXPECT_NE(tasks["row_picks"].at("notes").dump().find("picks_cuda (cuda_cpp)"), std::string::npos);
  const Project project = read_project(projects() / "row_picks");
  EXPECT_EQ(project.op.inputs.at(1).fill.kind, Fill::Kind::python);
  EXPECT_FALSE(project.op.inputs.at(1).constant);
  const Ran right = dent("check -p '" + (projects() / "row_picks").string() + "'");
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  scratch_.write("projects/row_picks/candidate.py", "def run(table, picks):\n    return table.reshape(-1)\n");
  const Ran wrong = dent("check -p '" + (projects() / "row_picks").string() + "'");
  EXPECT_EQ(wrong.code, 5) << wrong.out << wrong.err;
}

TEST_F(FlashInfer, OfTwoTasksWithOneNameTheSecondIsRefusedByTheFirst) {
  const fs::path set = scratch_.folder() / "set";
  fs::create_directories(set);
  for (const char* folder : {"a", "b"})
    fs::copy(fs::path(DENT_SUITES) / "custom" / "row_picks", set / folder, fs::copy_options::recursive);
  auto tasks = import(set);
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_FALSE(tasks["a"].contains("refused")) << tasks["a"];
  const std::string why = tasks["b"].at("refused");
  EXPECT_NE(why.find("a/definition.json has the same name"), std::string::npos) << why;
  EXPECT_NE(scratch_.read("stderr").find("\n- b "), std::string::npos) << "rows are the progress of --json";
}

TEST_F(FlashInfer, APathThatIsNotThereIsNamed) {
  const Ran ran = dent("import flashinfer /no/such/definition.json");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("there is no /no/such/definition.json"), std::string::npos) << ran.err;
}

TEST(FlashInferTasks, AreFoundInASetAndInFoldersOfTheirOwn) {
  EXPECT_EQ(flashinfer_tasks(fs::path(DENT_SUITES) / "trace").size(), 6U);
  EXPECT_EQ(flashinfer_tasks(fs::path(DENT_SUITES) / "custom").size(), 2U);
  EXPECT_EQ(trace_set_of("/a/set/definitions/op/x.json"), "/a/set");
  EXPECT_EQ(trace_set_of("/a/task/definition.json"), "/a/task");
}

}  // namespace
}  // namespace dent::test::flashinfer_test
