// SPDX-License-Identifier: MIT
#include "report/pictures/svg.h"

#include <gtest/gtest.h>

namespace dent::svg_test {
namespace {

TEST(Axis, GoesFromEndToEndAndClampsBeyond) {
  const Axis down(Axis::Scale::linear, 0, 10, 100, 0);
  EXPECT_DOUBLE_EQ(down.at(0), 100);
  EXPECT_DOUBLE_EQ(down.at(10), 0);
  EXPECT_DOUBLE_EQ(down.at(5), 50);
  EXPECT_DOUBLE_EQ(down.at(99), 0);
  const Axis log(Axis::Scale::logarithmic, 1, 100, 0, 200);
  EXPECT_DOUBLE_EQ(log.at(10), 100);
}

TEST(Axis, TicksAreRound) {
  EXPECT_EQ(Axis(Axis::Scale::linear, 0, 10, 0, 1).ticks(), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(Axis(Axis::Scale::logarithmic, 0.5, 200, 0, 1).ticks(), (std::vector<double>{1, 10, 100}));
  EXPECT_EQ(Axis(Axis::Scale::logarithmic, 0.9, 12, 0, 1).ticks(), (std::vector<double>{1, 2, 5, 10}));
}

TEST(Axis, OneValueAloneIsStillARange) {
  const Axis axis(Axis::Scale::linear, 7, 7, 0, 100);
  EXPECT_DOUBLE_EQ(axis.at(7), 50);
  EXPECT_FALSE(Axis(Axis::Scale::linear, 0, 0, 0, 100).ticks().empty());
}

TEST(Svg, EscapesTextAndShortensNumbers) {
  Svg svg(100, 50, "a & b");
  svg.text(1.04, 2, "<x>");
  const std::string text = std::move(svg).take();
  EXPECT_NE(text.find("aria-label=\"a &amp; b\""), std::string::npos);
  EXPECT_NE(text.find("x=\"1\" y=\"2\""), std::string::npos) << text;
  EXPECT_NE(text.find("&lt;x&gt;"), std::string::npos);
  EXPECT_EQ(coordinate(-0.01), "0");
}

}  // namespace
}  // namespace dent::svg_test
