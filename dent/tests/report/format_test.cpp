// SPDX-License-Identifier: MIT
#include "report/format.h"

#include <gtest/gtest.h>

namespace dent::format_test {
namespace {

TEST(Format, TimesHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(show_ns(0), "-");
  EXPECT_EQ(show_ns(7.4), "7.40 ns");
  EXPECT_EQ(show_ns(743), "743 ns");
  EXPECT_EQ(show_ns(999.6), "1.00 us");
  EXPECT_EQ(show_ns(12'400), "12.4 us");
  EXPECT_EQ(show_ns(8.29e6), "8.29 ms");
  EXPECT_EQ(show_ns(1.2e9), "1.20 s");
  EXPECT_EQ(show_seconds(0.42), "0.42 s");
  EXPECT_EQ(show_seconds(200), "3 min 20 s");
}

TEST(Format, RatiosKeepTheDigitsThatTellThemFromOne) {
  EXPECT_EQ(show_factor(1.004), "1.004x");
  EXPECT_EQ(show_factor(0.012), "0.012x");
  EXPECT_EQ(show_factor(2600), "2600x");
  EXPECT_EQ(show_ratio({1.04, {1.021, 1.06}}), "1.040x (1.021 .. 1.060)");
}

TEST(Format, OtherNumbers) {
  EXPECT_EQ(show_bytes(512), "512 B");
  EXPECT_EQ(show_bytes(40960), "40.0 KiB");
  EXPECT_EQ(show_number(0), "0");
  EXPECT_EQ(show_number(1.5e-7), "1.50e-07");
  EXPECT_EQ(show_number(0.25), "0.25");
}

TEST(Format, TextOfOthersCanNotBreakThePage) {
  EXPECT_EQ(escape_html("<script>alert('x' & \"y\")</script>"),
            "&lt;script&gt;alert(&#39;x&#39; &amp; &quot;y&quot;)&lt;/script&gt;");
  EXPECT_EQ(escape_markdown_cell("a|b\n<i>"), "a\\|b \\<i>");
}

}  // namespace
}  // namespace dent::format_test
