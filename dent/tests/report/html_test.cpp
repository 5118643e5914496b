// SPDX-License-Identifier: MIT
#include "report/html.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/example_session.h"

namespace dent::html_test {
namespace {

using test::example_records;
using test::Story;

std::string page_of(Story story, std::span<const HistoryEntry> history = {}) {
  return html_report(view_session("20260331-140509-3fa9", example_records(story)), history);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// The tags of a page without brackets. Attributes contain no '>', since text is escaped.
std::vector<std::string> tags_of(const std::string& page) {
  std::vector<std::string> tags;
  for (auto at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    tags.push_back(page.substr(at + 1, page.find('>', at) - at - 1));
  }
  return tags;
}

// Every opened element is closed, in order.
void expect_balanced(const std::string& page) {
  std::vector<std::string> open;
  for (const std::string& tag : tags_of(page.substr(page.find("</style>") + 8))) {
    const bool closes = tag[0] == '/';
    const std::string name = tag.substr(closes, tag.find_first_of(" />", closes) - closes);
    if (tag.back() == '/' || name == "br" || name == "meta") continue;
    if (!closes) {
      open.push_back(name);
      continue;
    }
    if (name == "head" || name == "html" || name == "body") {
      if (!open.empty() && open.back() == name) open.pop_back();
      continue;
    }
    ASSERT_FALSE(open.empty()) << name;
    ASSERT_EQ(open.back(), name);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty()) << open.back();
}

// Whether a tag has an attribute on...=, which runs code on a click or a load.
bool has_event_handler(const std::string& tag) {
  for (auto at = tag.find(" on"); at != std::string::npos; at = tag.find(" on", at + 1)) {
    auto end = at + 3;
    while (end < tag.size() && tag[end] >= 'a' && tag[end] <= 'z') ++end;
    if (end > at + 3 && end < tag.size() && tag[end] == '=') return true;
  }
  return false;
}

TEST(HtmlReport, TellsWhatOfTheTimeWasDentsOwn) {
  EXPECT_NE(page_of(Story::faster).find("took 21.5 s, 1.50 s of it in dent itself"), std::string::npos)
      << page_of(Story::faster).substr(page_of(Story::faster).find("took"), 80);
}

TEST(HtmlReport, NeedsNothingButItself) {
  for (auto story : {Story::faster, Story::cheating, Story::incorrect, Story::interrupted}) {
    const std::string page = page_of(story);
    for (const char* outside :
         {"<script", "<link", "<img", "http:", "https:", "url(", "@import", "javascript:"}) {
      EXPECT_EQ(page.find(outside), std::string::npos) << outside;
    }
    for (const std::string& tag : tags_of(page)) EXPECT_FALSE(has_event_handler(tag)) << tag;
    expect_balanced(page);
  }
}

TEST(HtmlReport, ShowsEverythingThatASessionHas) {
  const std::string page = page_of(Story::faster);
  for (const char* section : {"Speed", "Samples", "Gates", "Correctness", "Roofline", "Checks", "Build",
                              "Environment", "Earlier sessions", "Notes"}) {
    EXPECT_NE(page.find("<h2>" + std::string(section) + "</h2>"), std::string::npos) << section;
  }
  EXPECT_EQ(count(page, "<svg "), 5u) << "ratios, three shapes, roofline";
  EXPECT_NE(page.find("1.110x (1.090 .. 1.130)"), std::string::npos);
  EXPECT_NE(page.find("45.5 s"), std::string::npos) << "time that a gate took";
  EXPECT_NE(page.find("class=\"over\""), std::string::npos) << "and that it was over its box";
  EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_NE(page.find("@media print"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
}

TEST(HtmlReport, TextOfOthersIsEscaped) {
  const std::string page = page_of(Story::faster);
  EXPECT_NE(page.find("attention &lt;cpu&gt;"), std::string::npos);
  EXPECT_NE(page.find("naive &amp; plain"), std::string::npos);
  EXPECT_EQ(page.find("<cpu>"), std::string::npos);
  EXPECT_EQ(page.find("<idle>"), std::string::npos);
  EXPECT_NE(page_of(Story::incorrect).find("assert &lt;failed&gt;"), std::string::npos);
}

TEST(HtmlReport, NamesTheCheat) {
  const std::string page = page_of(Story::cheating);
  EXPECT_NE(page.find("CHEAT: output written after the call had returned"), std::string::npos);
}

TEST(HtmlReport, SaysWhyThereIsNoRoofline) {
  auto records = example_records(Story::faster);
  std::erase_if(records, [](const Record& record) { return record.as<record::Roofline>() != nullptr; });
  EXPECT_NE(html_report(view_session("id", records), {}).find("Not drawn: the device"), std::string::npos);
}

TEST(HtmlReport, ListsEarlierSessions) {
  HistoryEntry good, broken;
  good.id = "20260101-000000-aaaa";
  good.verdict = Verdict::slower;
  good.mean = Ratio{0.5, {0.4, 0.6}};
  broken.id = "20251231-000000-bbbb";
  broken.unreadable = "line 3: not a record";
  const std::string page = page_of(Story::faster, std::vector{good, broken});
  EXPECT_NE(page.find("0.500x (0.400 .. 0.600)"), std::string::npos);
  EXPECT_NE(page.find("unreadable: line 3"), std::string::npos);
}

// A session may be killed at any instant, and a report must still be possible.
TEST(HtmlReport, EveryBeginningOfASessionHasAPage) {
  const auto records = example_records(Story::faster);
  for (std::size_t length = 0; length <= records.size(); ++length) {
    expect_balanced(html_report(view_session("id", std::span(records).first(length)), {}));
  }
}

}  // namespace
}  // namespace dent::html_test
