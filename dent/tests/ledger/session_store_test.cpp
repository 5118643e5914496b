// SPDX-License-Identifier: MIT
#include "ledger/session_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "ledger/in_child.h"

namespace dent::session_store_test {
namespace {

using test::ScratchFolder;

std::string error_of(const SessionStore& store, std::string_view id) {
  try {
    store.find(id);
    return "found";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(SessionStore, CreatesFoldersOfTheirOwn) {
  ScratchFolder project;
  SessionStore store(project.path());
  std::vector<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    const SessionFolder session = store.create();
    ids.push_back(session.id);
    EXPECT_TRUE(std::filesystem::is_directory(session.artifacts()));
    EXPECT_EQ(session.folder.parent_path(), project / ".dent" / "sessions");
  }
  EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()))
      << "names sort by time, however quickly they follow each other";
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
  EXPECT_TRUE(std::filesystem::exists(project / ".dent" / ".gitignore"));
  EXPECT_EQ(store.list().size(), 20u);
}

// Another part of dent may have made the folder, for a worktree or a job.
TEST(SessionStore, KeepsAFolderThatWasThereOutOfVersionControl) {
  ScratchFolder project;
  std::filesystem::create_directories(project / ".dent" / "worktrees");
  SessionStore(project.path()).prepare();
  EXPECT_TRUE(std::filesystem::exists(project / ".dent" / ".gitignore"));
}

TEST(SessionStore, FollowsNoLink) {
  ScratchFolder project, elsewhere;
  std::filesystem::create_directory_symlink(elsewhere.path(), project / ".dent");
  EXPECT_THROW(SessionStore{project.path()}, Error);
  std::filesystem::remove(project / ".dent");
  std::filesystem::create_directories(project / ".dent");
  std::filesystem::create_directory_symlink(elsewhere.path(), project / ".dent" / "sessions");
  EXPECT_THROW(SessionStore{project.path()}, Error);
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere.path()));
}

TEST(SessionStore, FindsByTheBeginningOfAnIdWhenOnlyOneFits) {
  ScratchFolder project;
  SessionStore store(project.path());
  store.prepare();
  for (const char* id : {"20260101-000000-aaaa", "20260101-000000-abbb", "20260202-000000-cccc"}) {
    std::filesystem::create_directory(project / ".dent" / "sessions" / id);
  }
  EXPECT_EQ(store.find("202602").id, "20260202-000000-cccc");
  EXPECT_EQ(store.find("20260101-000000-aa").id, "20260101-000000-aaaa");
  EXPECT_EQ(store.find("latest").id, "20260202-000000-cccc");
  EXPECT_NE(error_of(store, "20260101").find("is the beginning of 2 session"), std::string::npos);
  EXPECT_NE(error_of(store, "1999").find("20260202-000000-cccc"), std::string::npos)
      << "it says which there are";
  EXPECT_NE(error_of(store, "").find("no session"), std::string::npos);
}

TEST(SessionStore, AProjectWithoutSessionsSaysSo) {
  ScratchFolder project;
  const SessionStore store(project.path());
  EXPECT_TRUE(store.list().empty());
  EXPECT_NE(error_of(store, "latest").find("dent run"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(project / ".dent")) << "looking must not create";
}

TEST(SessionStore, ArtifactsStayInTheirFolder) {
  const SessionFolder session{"id", "/project/.dent/sessions/id"};
  EXPECT_EQ(artifact_path(session, "build.log"), "/project/.dent/sessions/id/artifacts/build.log");
  EXPECT_EQ(artifact_path(session, "samples/1.json"), "/project/.dent/sessions/id/artifacts/samples/1.json");
  for (const char* bad : {"", "..", "../ledger.jsonl", "a/../../x", "/etc/passwd", "folder/"}) {
    EXPECT_THROW(artifact_path(session, bad), Error) << bad;
  }
}

}  // namespace
}  // namespace dent::session_store_test
