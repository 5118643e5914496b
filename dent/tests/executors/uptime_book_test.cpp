// SPDX-License-Identifier: MIT
#include "executors/uptime_book.h"

#include <gtest/gtest.h>

#include "ledger/in_child.h"

namespace dent::uptime_book_test {
namespace {

using std::chrono::seconds;

class UptimeBookTest : public testing::Test {
 protected:
  std::vector<record::Uptime> booked(int at) const {
    std::vector<record::Uptime> all;
    book_.book(t(at), [&](const record::Uptime& uptime) { all.push_back(uptime); });
    return all;
  }
  static UptimeBook::Time t(int s) { return UptimeBook::Time(seconds(1'800'000'000 + s)); }

  const test::ScratchFolder scratch_;
  const UptimeBook book_{scratch_ / "uptime.json", "it"};
};

TEST_F(UptimeBookTest, EveryStretchIsBookedOnce) {
  EXPECT_TRUE(booked(0).empty());
  book_.started(t(10));
  auto all = booked(25);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0], (record::Uptime{.executor = "it",
                                    .from = "2027-01-15T08:00:10.000Z",
                                    .to = "2027-01-15T08:00:25.000Z",
                                    .seconds = 15}));
  EXPECT_FALSE(book_.found_up(t(30)));
  book_.stopped(t(40));
  all = booked(100);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].begin, UptimeFrom::goes_on);
  EXPECT_EQ(all[0].end, UptimeTo::stopped);
  EXPECT_DOUBLE_EQ(all[0].seconds, 15);
  EXPECT_TRUE(booked(200).empty());
}

TEST_F(UptimeBookTest, ForWhoIsKilledWhileBookingItIsTheSameStretchAgain) {
  book_.started(t(0));
  EXPECT_THROW(book_.book(t(5), [](const record::Uptime&) { throw 1; }), int);
  const auto all = booked(9);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].from, "2027-01-15T08:00:00.000Z");
  EXPECT_DOUBLE_EQ(all[0].seconds, 9);
}

TEST_F(UptimeBookTest, WhatItDidWhileNobodyLookedIsNotCounted) {
  EXPECT_TRUE(book_.found_up(t(0)));
  EXPECT_FALSE(book_.found_up(t(60)));
  EXPECT_TRUE(book_.found_up(t(10'000)));
  book_.found_down(std::nullopt);
  const auto all = booked(20'000);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_DOUBLE_EQ(all[0].seconds, 60);
  EXPECT_EQ(all[1].begin, UptimeFrom::found_running);
  EXPECT_DOUBLE_EQ(all[1].seconds, 0);
}

TEST_F(UptimeBookTest, TakenAwayAndStartedAgainAreTwoStretches) {
  book_.started(t(0));
  book_.in_use(t(6));
  book_.found_down(t(7));
  book_.in_use(t(12));  // of who waits for it to come back
  book_.started(t(20));
  const auto all = booked(23);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].end, UptimeTo::taken_away);
  EXPECT_DOUBLE_EQ(all[0].seconds, 7);
  EXPECT_EQ(all[1].begin, UptimeFrom::started);
  EXPECT_DOUBLE_EQ(all[1].seconds, 3);
}

}  // namespace
}  // namespace dent::uptime_book_test
