// SPDX-License-Identifier: MIT
#include "diagnose/ncu_report.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "diagnose/ncu_metrics.h"

namespace dent::ncu_report_test {
namespace {

constexpr const char* kHead =
    "==PROF== Connected to process 9896 (/tmp/program)\n"
    "\"ID\",\"Kernel "
    "Name\",\"CC\",\"gpu__time_duration.sum\",\"launch__grid_size\",\"lts__t_sector_hit_rate.pct\"\n"
    "\"\",\"\",\"\",\"ns\",\"\",\"%\"\n";

TEST(NcuReport, NumbersHaveCommasAndUnits) {
  EXPECT_EQ(parse_ncu_value("5,401,056", "").value, 5401056);
  EXPECT_EQ(parse_ncu_value("1.5", "usecond").value, 1500);
  EXPECT_EQ(parse_ncu_value("2", "ms").value, 2e6);
  EXPECT_EQ(parse_ncu_value("3", "Kbyte").value, 3000);
  EXPECT_EQ(parse_ncu_value("0", "%").presence, Presence::value);
}

TEST(NcuReport, AbsentIsNotZero) {
  EXPECT_EQ(parse_ncu_value("", "").presence, Presence::missing);
  EXPECT_EQ(parse_ncu_value("n/a", "").presence, Presence::missing);
  EXPECT_EQ(parse_ncu_value("no data", "").presence, Presence::missing);
  EXPECT_EQ(parse_ncu_value("nan", "").presence, Presence::not_a_number);
  EXPECT_EQ(parse_ncu_value("-nan", "").presence, Presence::not_a_number);
  EXPECT_EQ(parse_ncu_value("inf", "").presence, Presence::not_a_number);
}

TEST(NcuReport, ChatterIsKeptApartAndRowsAreLaunches) {
  const auto report = parse_ncu_csv(std::string(kHead) +
                                    "\"0\",\"void f<1, \"\"x\"\">(int)\",\"8.9\",\"2,656\",\"58\",\"nan\"\n"
                                    "==PROF== Disconnected from process 9896\n");
  ASSERT_EQ(report.launches.size(), 1U);
  EXPECT_EQ(report.chatter.size(), 2U);
  EXPECT_EQ(report.launches[0].kernel, "void f<1, \"x\">(int)");
  EXPECT_EQ(report.launches[0].arch, 89);
  EXPECT_EQ(report.launches[0].metrics["launch__grid_size"], 58);
  EXPECT_EQ(report.launches[0].metrics.at("lts__t_sector_hit_rate.pct").presence, Presence::not_a_number);
}

TEST(NcuReport, WhatTheProgramPrintsBeforeTheHeaderIsPassedOver) {
  const auto report = parse_ncu_csv("\"my\",\"own\",\"csv\"\n" + std::string(kHead) +
                                    "\"0\",\"f\",\"9.0\",\"1\",\"2\",\"3\"\n");
  EXPECT_EQ(report.launches.size(), 1U);
}

TEST(NcuReport, ARowThatDoesNotFitItsHeaderIsAnError) {
  EXPECT_THROW(parse_ncu_csv(std::string(kHead) + "\"0\",\"f\",\"9.0\"\n"), Error);
}

TEST(NcuReport, NothingAtAllHasNoLaunches) { EXPECT_TRUE(parse_ncu_csv("").launches.empty()); }

TEST(NcuReport, CountersThatDidNotComeBackAreListed) {
  const auto report = parse_ncu_csv(std::string(kHead) + "\"0\",\"f\",\"9.0\",\"1\",\"2\",\"nan\"\n");
  const auto absent = absent_metrics(report.launches[0], 90);
  EXPECT_EQ(absent.size(), ncu_metrics(90).size() - 2);
  EXPECT_NE(std::find(absent.begin(), absent.end(), "lts__t_sector_hit_rate.pct"), absent.end());
}

TEST(NcuReport, OnlyHopperIsAskedAboutWgmma) {
  const auto has_gmma = [](int arch) {
    for (const std::string& name : ncu_metrics(arch)) {
      if (name.find("gmma") != std::string::npos) return true;
    }
    return false;
  };
  EXPECT_TRUE(has_gmma(90));
  EXPECT_FALSE(has_gmma(89));
}

}  // namespace
}  // namespace dent::ncu_report_test
