// SPDX-License-Identifier: MIT
// What a stranger's manifest may say. Each wall has an attack that passes where the wall is taken away.
#include "project/stranger.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "project/manifest.h"
#include "project/strict_table.h"
#include "suites/imported.h"
#include "system/temporary_folder.h"

namespace dent::test::stranger_test {
namespace {

namespace fs = std::filesystem;

const std::string kHead = "version = 1\nshapes = [{ name = \"tiny\", n = 32 }]\n";
const std::string kKernel = "[kernel]\nsources = [\"kernel.cpp\"]\nentry = \"scale\"\n";
const std::string kRest =
    "[baseline.plain]\nsources = [\"plain.cpp\"]\nentry = \"scale\"\n"
    "[operator]\nname = \"scale\"\ninputs.x = { shape = [\"n\"] }\noutputs.y = { shape = [\"n\"] }\n"
    "reference = { python = \"reference:scale\" }\n";

class Stranger : public testing::Test {
 protected:
  std::string refusal(const std::string& manifest, const std::vector<fs::path>& named = {}) const {
    try {
      check_strangers_manifest(manifest, root() / "project", root(), named);
      return {};
    } catch (const Error& problem) {
      return problem.in_one_line();
    }
  }
  void SetUp() override { fs::create_directories(root() / "project"); }
  fs::path root() const { return folder_.path(); }

 private:
  const TemporaryFolder folder_{"dent-stranger"};
};

TEST_F(Stranger, MaySayWhatToCompute) {
  EXPECT_EQ(refusal(kHead + kKernel + kRest), "");
  EXPECT_EQ(refusal(kHead + kKernel +
                    "flags = [\"-O3\", \"-march=native\", \"-ffast-math\", \"-DTILE=4\", \"-gencode\", "
                    "\"arch=compute_90a,code=sm_90a\"]\n"
                    "include = [\"../common\"]\n" +
                    kRest + "[limits]\nmemory_gib = 4\n[optimize]\nfiles = [\"kernel.cpp\"]\n"),
            "");
}

// Every key that is not open to all, with what would do harm.
TEST_F(Stranger, MayNotSayWhatThatSees) {
  const auto kernel = [](const std::string& line) { return kHead + kKernel + line + "\n" + kRest; };
  const std::pair<const char*, std::string> attacks[] = {
      {"interpreter", "interpreter = \"/tmp/python\"\n" + kHead + kKernel + kRest},
      {"sandbox", "sandbox = \"off\"\n" + kHead + kKernel + kRest},
      {"visible", "visible = [\"/home\"]\n" + kHead + kKernel + kRest},
      {"visible", "visible = [\"../..\"]\n" + kHead + kKernel + kRest},
      {"kernel.sources", kHead + "[kernel]\nsources = [\"../../secret.cpp\"]\nentry = \"scale\"\n" + kRest},
      {"kernel.sources", kHead + "[kernel]\nsources = [\"/etc/passwd\"]\nentry = \"scale\"\n" + kRest},
      {"kernel.library", kHead + "[kernel]\nlibrary = \"/usr/lib/libm.so\"\nentry = \"scale\"\n" + kRest},
      {"kernel.build", kernel("build = \"curl example.com\"")},
      {"kernel.link", kernel("link = [\"-Wl,-rpath,/tmp\"]")},
      {"kernel.include", kernel("include = [\"/home\"]")},
      {"kernel.flags", kernel("flags = [\"-I/home\"]")},
      {"kernel.flags", kernel("flags = [\"-include\", \"/etc/passwd\"]")},
      {"kernel.flags", kernel("flags = [\"-fplugin=x.so\"]")},
      {"kernel.flags", kernel("flags = [\"-Wl,-rpath,x\"]")},
      {"kernel.flags", kernel("flags = [\"-specs=x\"]")},
      {"kernel.flags", kernel("flags = [\"@file\"]")},
      {"kernel.flags", kernel("flags = [\"-DHOME=${HOME}\"]")},
      {"baseline.plain.build",
       kHead + kKernel + "[baseline.plain]\nbuild = \"id\"\nlibrary = \"x.so\"\nentry = \"s\"\n"},
      {"variants.build", kHead + kKernel + kRest + "[[variants]]\nname = \"v\"\nbuild = \"id\"\n"},
      {"operator.reference.library",
       kHead + kKernel + "[operator]\nreference = { library = \"/tmp/x.so\", entry = \"s\" }\n"},
      {"operator.reference.source",
       kHead + kKernel + "[operator]\nreference = { source = \"../../x.cpp\", entry = \"s\" }\n"},
      {"optimize.command", kHead + kKernel + kRest + "[optimize]\ncommand = \"id\"\n"},
      {"optimize.command_seconds", kHead + kKernel + kRest + "[optimize]\ncommand_seconds = 1\n"},
      {"optimize.command_sandbox", kHead + kKernel + kRest + "[optimize]\ncommand_sandbox = \"off\"\n"},
      {"optimize.command_network", kHead + kKernel + kRest + "[optimize]\ncommand_network = true\n"},
      {"optimize.command_paths", kHead + kKernel + kRest + "[optimize]\ncommand_paths = [\"/home\"]\n"},
      {"optimize.command_env", kHead + kKernel + kRest + "[optimize]\ncommand_env = [\"TOKEN\"]\n"},
      {"optimize.files", kHead + kKernel + kRest + "[optimize]\nfiles = [\"/etc/passwd\"]\n"},
      {"optimize.protect", kHead + kKernel + kRest + "[optimize]\nprotect = [\"../../x\"]\n"},
      {"executor.box.kind",
       kHead + kKernel + kRest + "[executor.box]\nkind = \"command\"\nstart = \"id {command}\"\n"},
      {"name", "name = \"${HOME}\"\n" + kHead + kKernel + kRest},
      {"surprise", "surprise = 1\n" + kHead + kKernel + kRest},
  };
  std::set<std::string> tried;
  for (const auto& [key, manifest] : attacks) {
    const std::string said = refusal(manifest);
    EXPECT_NE(said.find(std::string(": ") + key), std::string::npos) << key << ": " << said << "\n"
                                                                     << manifest;
    tried.insert(key);
  }
  // A rule that nothing has tried is none.
  for (const WallRule& rule : stranger_rules()) {
    if (rule.wall == Wall::open || rule.key == "executor.*" || rule.key.starts_with("variants.") ||
        rule.key.starts_with("baseline."))
      continue;
    EXPECT_TRUE(tried.contains(std::string(rule.key))) << rule.key;
  }
}

TEST_F(Stranger, MayNotLeadOutByALink) {
  fs::create_symlink("/etc", root() / "project" / "headers");
  EXPECT_NE(refusal(kHead + kKernel + "include = [\"headers\"]\n" + kRest).find("kernel.include"),
            std::string::npos);
  std::ofstream(root() / "elsewhere.toml") << kHead << kKernel << kRest;
  fs::create_symlink("../elsewhere.toml", root() / "project" / kManifestName);
  EXPECT_NO_THROW(read_strangers_project(root() / "project", root()));
  EXPECT_THROW(read_strangers_project(root() / "project", root() / "project"), Error);
}

TEST_F(Stranger, SeesWhatTheUserHasNamed) {
  const std::string manifest =
      "visible = [\"" + (root() / "set" / "blobs").string() + "\"]\n" + kHead + kKernel + kRest;
  EXPECT_EQ(refusal(manifest, {root() / "set"}), "");
  EXPECT_NE(refusal(manifest, {root() / "other"}).find("visible"), std::string::npos);
}

TEST_F(Stranger, RunsInACellWhateverItSays) {
  std::ofstream(root() / "project" / kManifestName) << kHead << kKernel << kRest;
  EXPECT_EQ(read_strangers_project(root() / "project", root()).sandbox, Sandbox::required);
}

// Keys of every project in this repository: those of the user's own would be refused by name, none for want
// of a rule.
TEST_F(Stranger, EveryKeyHasARule) {
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

TEST_F(Stranger, AnImportedTaskBecomesAProjectOfOneFolder) {
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
}  // namespace dent::test::stranger_test
