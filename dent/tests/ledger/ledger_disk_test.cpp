// SPDX-License-Identifier: MIT
// Full disks and read-only folders: dent reports a clear error, and existing files stay intact.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <fstream>
#include <string>

#include "base/error.h"
#include "ledger/in_child.h"
#include "ledger/ledger.h"
#include "ledger/session_store.h"
#include "system/durable_file.h"

namespace dent::ledger_disk_test {
namespace {

using test::become_an_ordinary_user;
using test::ScratchFolder;
using test::start_child;
using test::wait_for;

void limit_file_size(rlim_t bytes) {
  ::signal(SIGXFSZ, SIG_IGN);  // a write beyond the limit then fails like one to a full disk
  const rlimit limit{bytes, RLIM_INFINITY};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) throw std::runtime_error("no limit set");
}

// Returns 0 if `body` throws an Error of kind environment whose text contains `expected`.
template <class Body>
int must_refuse(const Body& body, const std::string& expected) {
  try {
    body();
    std::cerr << "it was not refused" << std::endl;
    return 1;
  } catch (const Error& error) {
    const bool good = error.code() == ErrorCode::environment &&
                      std::string(error.what()).find(expected) != std::string::npos;
    if (!good) std::cerr << error.what() << std::endl;
    return good ? 0 : 2;
  }
}

TEST(LedgerDisk, AFullDiskIsAClearErrorAndTheLedgerGoesOnWhenThereIsRoom) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  EXPECT_EQ(wait_for(start_child([&] {
              Ledger ledger(file);
              ledger.append(record::Note{"fits"});
              limit_file_size(std::filesystem::file_size(file) + 100);
              const auto too_long = [&] { ledger.append(record::Note{std::string(5000, 'x')}); };
              if (must_refuse(too_long, "can't write to") != 0) return 1;
              if (read_ledger(file).torn_bytes != 0) return 2;  // the partly written record was removed
              limit_file_size(RLIM_INFINITY);
              ledger.append(record::Note{"fits again"});
              return ledger.records().back().number == 2 ? 0 : 3;
            })),
            0);
  const auto content = read_ledger(file);
  ASSERT_EQ(content.records.size(), 2u);
  ASSERT_NE(content.records[1].as<record::Note>(), nullptr);
  EXPECT_EQ(content.records[1].as<record::Note>()->text, "fits again");
}

TEST(LedgerDisk, AFullDiskLeavesTheOldVersionOfAFile) {
  ScratchFolder folder;
  const auto file = folder / "report.md";
  write_durably(file, "old");
  EXPECT_EQ(wait_for(start_child([&] {
              limit_file_size(1000);
              return must_refuse([&] { write_durably(file, std::string(5000, 'x')); }, "ulimit -f");
            })),
            0);
  std::ifstream in(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1)
      << "something was left behind";
}

// The always-full device of Linux gives a real ENOSPC.
TEST(LedgerDisk, NoSpaceLeftNamesTheRemedy) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const FileDescriptor full = open_file("/dev/full", 1 /* O_WRONLY */, "can't open");
  EXPECT_EQ(must_refuse([&] { write_all(full.get(), "x", "/dev/full"); }, "free some space"), 0);
}

TEST(LedgerDisk, AReadOnlyProjectIsAClearError) {
  ScratchFolder folder;
  std::filesystem::permissions(folder.path(), static_cast<std::filesystem::perms>(0555));
  EXPECT_EQ(wait_for(start_child([&] {
              become_an_ordinary_user();
              return must_refuse([&] { SessionStore(folder.path()).create(); }, "make ");
            })),
            0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(LedgerDisk, AReadOnlyLedgerIsAClearErrorAndCanStillBeRead) {
  ScratchFolder folder;
  const auto file = folder / "ledger.jsonl";
  Ledger(file).append(record::Note{});
  std::filesystem::permissions(file, static_cast<std::filesystem::perms>(0444));
  std::filesystem::permissions(folder.path(), static_cast<std::filesystem::perms>(0555));
  EXPECT_EQ(wait_for(start_child([&] {
              become_an_ordinary_user();
              if (read_ledger(file).records.size() != 1) return 1;
              return must_refuse([&] { Ledger{file}; }, "can't open the ledger");
            })),
            0);
}

}  // namespace
}  // namespace dent::ledger_disk_test
