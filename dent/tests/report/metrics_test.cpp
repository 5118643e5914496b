// SPDX-License-Identifier: MIT
#include "report/metrics.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dent::metrics_test {
namespace {

using Json = nlohmann::json;

SessionView measured() {
  SessionView view;
  view.session.project = "softmax";
  view.session.baseline = "torch";
  record::Samples samples;
  samples.shape = "wide";
  for (int i = 0; i < 40; ++i) samples.candidate_ns.push_back(1000 + i % 4);
  samples.candidate_ns.push_back(1e9);  // set aside because of a lowered clock
  samples.aside = {40};
  view.samples = {samples};
  record::Comparison wide, odd;
  wide.shape = "wide";
  wide.ratio = Ratio{.centre = 1.5, .interval = {1.4, 1.6}};
  wide.candidate_ns = 1001.5;
  odd.shape = "odd \"name\"";
  odd.candidate_ns = 500;
  view.comparisons = {wide, odd};
  return view;
}

TEST(Metrics, BencherGetsTimesAndSpeedupsWithTheirIntervals) {
  const Json metrics = Json::parse(bencher_metrics(measured()));
  const Json& wide = metrics.at("softmax/wide");
  EXPECT_EQ(wide.at("latency").at("value"), 1001.5);
  EXPECT_GE(wide.at("latency").at("lower_value"), 1000);
  EXPECT_LE(wide.at("latency").at("upper_value"), 1003);
  EXPECT_EQ(wide.at("speedup"), (Json{{"value", 1.5}, {"lower_value", 1.4}, {"upper_value", 1.6}}));
  const Json& odd = metrics.at("softmax/odd \"name\"");
  EXPECT_EQ(odd, (Json{{"latency", {{"value", 500}}}})) << "too few samples have no interval";
}

TEST(Metrics, ActionBenchmarkGetsAListOfTimes) {
  const Json list = Json::parse(action_benchmark(measured()));
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].at("name"), "softmax/wide");
  EXPECT_EQ(list[0].at("unit"), "us");
  EXPECT_DOUBLE_EQ(list[0].at("value"), 1.0015);
  EXPECT_EQ(list[0].at("extra"), "1.500x of torch (1.400 to 1.600)");
  EXPECT_FALSE(list[1].contains("range"));
}

}  // namespace
}  // namespace dent::metrics_test
