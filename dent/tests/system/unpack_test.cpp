// SPDX-License-Identifier: MIT
// Archives by which another machine could write where it should not, or fill the disk.
#include "system/unpack.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "system/temporary_folder.h"

namespace dent::unpack_test {
namespace {

namespace fs = std::filesystem;

class Unpack : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder : {"made", "unpacked", "home"}) fs::create_directories(root() / folder);
    std::ofstream(root() / "home" / "key") << "secret";
  }
  fs::path root() const { return folder_.path(); }
  // Of a shell that stands in `made` and leaves an archive, or with tar's options for all that is there.
  void make(const std::string& script, const std::string& options = "") const {
    const std::string all =
        fmt::format("cd '{0}/made' && {1} && tar {2} -cf '{0}/a.tar' .", root().string(), script, options);
    ASSERT_EQ(std::system(all.c_str()), 0) << all;
  }
  std::string refusal(const SentLimits& limits = {}) const {
    try {
      unpack(root() / "a.tar", root() / "unpacked", limits);
      return "taken";
    } catch (const Error& problem) {
      return problem.in_one_line();
    }
  }

 private:
  const TemporaryFolder folder_{"dent-unpack-test"};
};

TEST_F(Unpack, TakesPlainFilesAndFolders) {
  make("mkdir -p a/b && echo one > a/b/one && echo two > two");
  EXPECT_EQ(refusal(), "taken");
  EXPECT_EQ(text_of(root() / "unpacked/a/b/one"), "one\n");
}

TEST_F(Unpack, RefusesLinks) {
  make("ln -s ../home home");
  EXPECT_NE(refusal().find("home is no plain file"), std::string::npos) << refusal();
}

TEST_F(Unpack, RefusesHardLinks) {
  make("echo x > one && ln one two");
  EXPECT_NE(refusal().find("is no plain file"), std::string::npos) << refusal();
}

// A link first, and then a file that would be written through it.
TEST_F(Unpack, WritesThroughNoLink) {
  make("ln -s ../home home");
  const std::string archive = (root() / "a.tar").string();
  ASSERT_EQ(std::system(fmt::format("mkdir -p '{0}/other/home' && echo changed > '{0}/other/home/key' && "
                                    "tar -C '{0}/other' -rf '{1}' ./home/key",
                                    root().string(), archive)
                            .c_str()),
            0);
  EXPECT_NE(refusal(), "taken");
  EXPECT_EQ(text_of(root() / "home" / "key"), "secret");
}

TEST_F(Unpack, LeavesTheFolderAlone) {
  make("echo changed > key", "--transform 's,^.*key,../home/key,' -P");
  refusal();
  EXPECT_EQ(text_of(root() / "home" / "key"), "secret");
}

TEST_F(Unpack, EndsWhatGrowsWithoutEnd) {
  make("truncate -s 1G hollow", "--sparse");  // a few hundred bytes of archive
  EXPECT_LT(fs::file_size(root() / "a.tar"), 1 << 20);
  EXPECT_NE(refusal({.bytes = 1 << 20}), "taken");
  make("rm hollow; for i in $(seq 20); do echo $i > $i; done");
  EXPECT_NE(refusal({.files = 10}).find("more than 10 files"), std::string::npos);
}

TEST_F(Unpack, NamesAnArchiveThatIsNone) {
  std::ofstream(root() / "a.tar") << "nonsense";
  EXPECT_NE(refusal().find("a.tar: tar exited"), std::string::npos) << refusal();
}

TEST_F(Unpack, CopiesWhatAJobLeftWithoutFollowingLinks) {
  fs::create_symlink(root() / "home" / "key", root() / "made" / "patch");
  EXPECT_THROW(take_files(root() / "made", root() / "unpacked"), Error);
  EXPECT_TRUE(fs::is_empty(root() / "unpacked"));
}

}  // namespace
}  // namespace dent::unpack_test
