// SPDX-License-Identifier: MIT
// Builds also run foreign code: a build command is a program, and a compiler reads any file that a source
// names.
#include "build/compile.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/text.h"
#include "cell/bubblewrap.h"
#include "ledger/in_child.h"
#include "project/manifest.h"

namespace dent::compile_test {
namespace {

namespace fs = std::filesystem;

class BuildInACell : public testing::Test {
 protected:
  BuildInACell() { project_.directory = scratch_ / "project"; }
  void SetUp() override {
    if (!bubblewrap().why_not.empty()) GTEST_SKIP() << bubblewrap().why_not;
    fs::create_directories(project_.directory / ".dent");
    fs::create_directories(scratch_ / "home");
    std::ofstream(key_) << "a key\n";
    std::ofstream(project_.directory / "dent.toml") << "version = 1\n";
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(project_.directory / name) << text;
  }
  Built build(const Kernel& kernel, Sandbox sandbox) const {
    return build_kernel(project_, kernel,
                        {.folder = project_.directory / ".dent" / "build",
                         .include = scratch_ / "include",
                         .clean = true,
                         .extra_flags = {},
                         .cell = Cell(sandbox)});
  }

  const test::ScratchFolder scratch_;
  const fs::path key_ = scratch_ / "home" / "key";
  Project project_;
};

TEST_F(BuildInACell, SourcesBecomeALibrary) {
  fs::create_directories(scratch_ / "common");
  std::ofstream(scratch_ / "common" / "value.h") << "constexpr int kValue = 7;\n";
  write("kernel.cpp", "#include \"value.h\"\nextern \"C\" int kernel(const void*) { return kValue; }\n");
  const Kernel kernel{
      .name = "kernel", .sources = {"kernel.cpp"}, .entry = "kernel", .include = {"../common"}};
  const Built built = build(kernel, Sandbox::required);
  EXPECT_TRUE(built.ok) << built.problem << "\n" << built.log;
  EXPECT_TRUE(fs::exists(built.library));
  EXPECT_FALSE(built.binary_hash.empty());
}

TEST_F(BuildInACell, ASourceCanNotTakeAFileOfTheUsersAlong) {
  write("kernel.cpp", "asm(\".incbin \\\"" + key_.string() +
                          "\\\"\");\nextern \"C\" int kernel(const void*) { return 0; }\n");
  const Kernel kernel{.name = "kernel", .sources = {"kernel.cpp"}, .entry = "kernel"};
  EXPECT_TRUE(build(kernel, Sandbox::off).ok) << "without a cell it would not get there either";
  EXPECT_FALSE(build(kernel, Sandbox::required).ok);
}

TEST_F(BuildInACell, ABuildCommandWritesBesideItsSourcesAndNowhereElse) {
  write("kernel.cpp", "extern \"C\" int kernel(const void*) { return 0; }\n");
  const Kernel kernel{.name = "kernel",
                      .sources = {"kernel.cpp"},
                      .entry = "kernel",
                      .build =
                          "mkdir -p out && g++ -shared -fPIC -o out/kernel.so kernel.cpp; "
                          "echo forged >> dent.toml; echo forged >> .dent/ledger; echo x >> " +
                          key_.string() + "; true",
                      .library = "out/kernel.so"};
  const Built built = build(kernel, Sandbox::required);
  EXPECT_TRUE(built.ok) << built.problem << "\n" << built.log;
  EXPECT_EQ(text_of(key_), "a key\n");
  EXPECT_EQ(text_of(project_.directory / "dent.toml"), "version = 1\n");
  EXPECT_FALSE(fs::exists(project_.directory / ".dent" / "ledger"));
  EXPECT_TRUE(build(kernel, Sandbox::off).ok);
  EXPECT_EQ(text_of(key_), "a key\nx\n") << "without a cell it would not get there either";
}

class BuildAnywhere : public testing::Test {
 protected:
  // Builds `source` in a project of that name.
  Built build_in(const std::string& name, const std::string& source) const {
    const fs::path folder = scratch_ / name;
    fs::create_directories(folder);
    std::ofstream(folder / "kernel.h") << source;
    const Project project = parse_project(
        "version = 1\nshapes = [{ name = \"tiny\", n = 3 }]\n"
        "[kernel]\nsources = [\"kernel.h\"]\nentry = \"void kernel(const float* x, float* y, int n)\"\n"
        "[baseline.none]\npython = \"none:none\"\n[operator]\nname = \"scale\"\n"
        "inputs.x = { shape = [\"n\"] }\noutputs.y = { shape = [\"n\"] }\n"
        "reference = { python = \"none:none\" }\n",
        folder);
    return build_kernel(project, project.kernel,
                        {.folder = project.directory / ".dent" / "build",
                         .include = DENT_INCLUDE,
                         .clean = false,
                         .extra_flags = {},
                         .cell = Cell(Sandbox::off)});
  }
  const test::ScratchFolder scratch_;
};

TEST_F(BuildAnywhere, TheSameSourcesHaveTheSameHashInAnotherFolder) {
  const std::string source = "inline void kernel(const float* x, float* y, int n) { y[n - 1] = x[0]; }\n";
  const Built here = build_in("here", source), there = build_in("bundle/sources/there", source);
  ASSERT_TRUE(here.ok) << here.problem << here.log;
  EXPECT_EQ(here.source_hash, there.source_hash);
  EXPECT_EQ(staleness(here), "");
  EXPECT_TRUE(build_in("here", source).reused);
  EXPECT_NE(build_in("here", source + "// changed\n").source_hash, here.source_hash);
  EXPECT_NE(staleness(here), "");
}

TEST_F(BuildAnywhere, AProblemNamesFilesAsTheManifestDoes) {
  const Built built =
      build_in("worktrees/base", "inline void kernel(const float*, float* y, int) { y[0] = m; }\n");
  EXPECT_FALSE(built.ok);
  EXPECT_NE(built.problem.find("kernel.h:1:"), std::string::npos) << built.problem;
  EXPECT_EQ(built.problem.find(scratch_.path().string()), std::string::npos) << built.problem;
}

}  // namespace
}  // namespace dent::compile_test
