// SPDX-License-Identifier: MIT
// dent as a user without rights of root's, in a cell as well.
#include <gtest/gtest.h>
#include <unistd.h>

#include "ledger/ledger.h"
#include "ledger/session_store.h"
#include "session/dent_program.h"
#include "system/process.h"

namespace dent::ordinary_user_test {
namespace {

constexpr double kLong = 300;

TEST(OrdinaryUser, HasTheSameCellAsRoot) {
  const test::ScratchProject project;
  project.write_scale_manifest("right");
  const std::string home = project.folder().string();
  std::string before = "HOME='" + home + "'";
  if (geteuid() == 0) {
    const std::string become = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    const bool can =
        run({.argv = {"/bin/sh", "-c", become + " test -x '" DENT_PROGRAM "'"}}, kLong).ending.clean();
    if (!can) GTEST_SKIP() << "nobody can't run " DENT_PROGRAM;
    ASSERT_TRUE(run({.argv = {"chown", "-R", "65534:65534", home}}, kLong).ending.clean());
    before += " " + become;
  }
  const std::string bubblewrap = "bwrap --unshare-all --ro-bind / / true";
  if (!run({.argv = {"/bin/sh", "-c", before + " " + bubblewrap}}, kLong).ending.clean())
    GTEST_SKIP() << "an ordinary user can't make a cell here";
  const auto ran = project.dent({"check", "--json"}, kLong, before);
  ASSERT_EQ(ran.code, 0) << ran.out << ran.err;
  std::string walls;
  for (const Record& record : read_ledger(SessionStore(project.folder()).find("latest").ledger()).records) {
    const auto* environment = record.as<record::Environment>();
    if (environment == nullptr) continue;
    for (const std::string& wall : environment->walls) walls += wall + "\n";
  }
  EXPECT_NE(walls.find("bubblewrap"), std::string::npos) << walls;
}

}  // namespace
}  // namespace dent::ordinary_user_test
