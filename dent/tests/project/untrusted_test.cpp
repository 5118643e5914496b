// SPDX-License-Identifier: MIT
// What another author's manifest may say. Each wall has an attack that passes where the wall is taken away.
#include "project/untrusted.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "project/harmful_manifests.h"
#include "project/manifest.h"
#include "project/strict_table.h"
#include "suites/imported.h"
#include "system/temporary_folder.h"

namespace dent::test::untrusted_test {
namespace {

namespace fs = std::filesystem;

class Untrusted : public testing::Test {
 protected:
  std::string refusal(const std::string& manifest, const std::vector<fs::path>& named = {}) const {
    try {
      check_untrusted_manifest(manifest, root() / "project", {.root = root(), .folders = named});
      return {};
    } catch (const Error& problem) {
      return problem.in_one_line();
    }
  }
  void SetUp() override { fs::create_directories(root() / "project"); }
  fs::path root() const { return folder_.path(); }

 private:
  const TemporaryFolder folder_{"dent-untrusted"};
};

TEST_F(Untrusted, MaySayWhatToCompute) {
  EXPECT_EQ(refusal(kHead + kKernel + kRest), "");
  EXPECT_EQ(refusal(kHead + kKernel +
                    "flags = [\"-O3\", \"-march=native\", \"-ffast-math\", \"-DTILE=4\", \"-gencode\", "
                    "\"arch=compute_90a,code=sm_90a\"]\n"
                    "include = [\"../common\"]\n" +
                    kRest + "[limits]\nmemory_gib = 4\n[optimize]\nfiles = [\"kernel.cpp\"]\n"),
            "");
}

// Every key that is not open to all, with what would do harm.
TEST_F(Untrusted, MayNotSayWhatThatSees) {
  std::set<std::string> tried;
  for (const auto& [key, manifest] : harmful_manifests()) {
    const std::string said = refusal(manifest);
    EXPECT_NE(said.find(": " + key), std::string::npos) << key << ": " << said << "\n" << manifest;
    tried.insert(key);
  }
  // A rule that nothing has tried is none.
  for (const WallRule& rule : manifest_walls()) {
    if (rule.wall == Wall::open || rule.key == "executor.*" || rule.key.starts_with("variants.") ||
        rule.key.starts_with("baseline."))
      continue;
    EXPECT_TRUE(tried.contains(std::string(rule.key))) << rule.key;
  }
}

TEST_F(Untrusted, MayNotLeadOutByALink) {
  fs::create_symlink("/etc", root() / "project" / "headers");
  EXPECT_NE(refusal(kHead + kKernel + "include = [\"headers\"]\n" + kRest).find("kernel.include"),
            std::string::npos);
  std::ofstream(root() / "elsewhere.toml") << kHead << kKernel << kRest;
  fs::create_symlink("../elsewhere.toml", root() / "project" / kManifestName);
  EXPECT_NO_THROW(read_untrusted_project(root() / "project", {.root = root()}));
  EXPECT_THROW(read_untrusted_project(root() / "project", {.root = root() / "project"}), Error);
}

TEST_F(Untrusted, SeesWhatTheUserHasNamed) {
  const std::string manifest =
      "visible = [\"" + (root() / "set" / "blobs").string() + "\"]\n" + kHead + kKernel + kRest;
  EXPECT_EQ(refusal(manifest, {root() / "set"}), "");
  EXPECT_NE(refusal(manifest, {root() / "other"}).find("visible"), std::string::npos);
}

// An agent's server has seen the manifest: what stands in it holds, and nothing that was added or changed
// since.
TEST_F(Untrusted, MaySayWhatTheUserHasSeen) {
  const std::string seen = "interpreter = \"/opt/python\"\n" + kHead + kKernel + "link = [\"-lm\"]\n" + kRest;
  const auto refused = [&](const std::string& manifest) {
    try {
      check_untrusted_manifest(manifest, root() / "project", {.root = root(), .manifest = seen});
      return std::string();
    } catch (const Error& problem) {
      return problem.in_one_line();
    }
  };
  EXPECT_EQ(refused(seen), "");
  EXPECT_EQ(refused(seen + "[limits]\nmemory_gib = 4\n"), "");
  EXPECT_NE(refused("interpreter = \"/tmp/python\"\n" + kHead + kKernel + kRest).find("interpreter"),
            std::string::npos);
  EXPECT_NE(refused(kHead + kKernel + "link = [\"-lm\", \"-lc\"]\n" + kRest).find("kernel.link"),
            std::string::npos);
  EXPECT_NE(refused("sandbox = \"off\"\n" + seen).find("sandbox"), std::string::npos);
}

TEST_F(Untrusted, ALinkSinceItWasSeenIsNotFollowed) {
  const std::string seen = kHead + kKernel + "include = [\"headers\"]\n" + kRest;
  const Vouched vouched{.root = root(), .folders = {}, .manifest = seen};
  fs::create_directories(root() / "project" / "headers");
  EXPECT_NO_THROW(check_untrusted_manifest(seen, root() / "project", vouched));
  fs::remove(root() / "project" / "headers");
  fs::create_directory_symlink("/etc", root() / "project" / "headers");
  EXPECT_THROW(check_untrusted_manifest(seen, root() / "project", vouched), Error);
}

TEST_F(Untrusted, RunsInACellWhateverItSays) {
  std::ofstream(root() / "project" / kManifestName) << kHead << kKernel << kRest;
  EXPECT_EQ(read_untrusted_project(root() / "project", {.root = root()}).sandbox, Sandbox::required);
}

// Keys of every project in this repository: those of the user's own would be refused by name, none for want
// of a rule.
TEST_F(Untrusted, EveryKeyHasARule) {
  int manifests = 0;
  for (const auto& entry : fs::recursive_directory_iterator(DENT_PROJECTS)) {
    if (entry.path().filename() != kManifestName) continue;
    ++manifests;
    for (const ManifestValue& value : every_value(text_of(entry.path()), kManifestName)) {
      const std::string key = [&] {
        std::string joined;
        for (const std::string& word : value.path) joined += (joined.empty() ? "" : ".") + word;
        return joined;
      }();
      EXPECT_EQ(refusal(text_of(entry.path())).find("there is no rule"), std::string::npos)
          << key << " in " << entry.path();
    }
  }
  EXPECT_GT(manifests, 5);
}

// ---- what a reader of tasks gives back, which the task itself may have written

ImportedTask task(const std::string& manifest) {
  return {.task = "t.py", .name = "relu", .files = {{"dent.toml", manifest}, {"candidate.py", ""}}};
}

TEST_F(Untrusted, AnImportedTaskBecomesAProjectOfOneFolder) {
  const auto fault = [&](const ImportedTask& one) { return fault_of(one, root() / "relu", {}); };
  const std::string good = kHead + kKernel + kRest;
  EXPECT_EQ(fault(task(good)), "");
  // The line that a file name with a line break once became.
  EXPECT_NE(fault(task("sandbox = \"off\"\n" + good)).find("sandbox"), std::string::npos);
  EXPECT_NE(fault(task("visible = [\"/home\"]\n" + good)).find("visible"), std::string::npos);
  EXPECT_NE(fault(task("nonsense")).find("dent.toml"), std::string::npos);
  for (const char* file :
       {"../dent.toml", "/tmp/x", ".git/hooks/post-checkout", "a/../../b", "a\nb", ".dent/x"}) {
    ImportedTask one = task(good);
    one.files[file] = "";
    EXPECT_NE(fault(one).find("has a name that is none"), std::string::npos) << file;
  }
  for (const char* name : {"", "..", "../x", "a/b", "a\nb", ".hidden"}) {
    ImportedTask one = task(good);
    one.name = name;
    EXPECT_NE(fault(one).find("its name"), std::string::npos) << name;
  }
  ImportedTask tuned = task(good);
  tuned.files["tuned.toml"] = "";
  EXPECT_NE(fault(tuned).find("tuned.toml"), std::string::npos);
  ImportedTask bare = task(good);
  bare.files.erase("dent.toml");
  EXPECT_NE(fault(bare).find("no manifest"), std::string::npos);
}

TEST(Printable, LeavesNothingThatATerminalObeys) {
  EXPECT_EQ(printable("a\x1B[2Jb\nc\x7F"), "a [2Jb c ");
  EXPECT_EQ(printable("abcdef", 3), "abc");
}

}  // namespace
}  // namespace dent::test::untrusted_test
