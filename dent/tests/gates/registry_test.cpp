// SPDX-License-Identifier: MIT
// Every gate must provide what plans, commands, tools and documentation need. The table in dent/docs/dent.md
// is generated from the list; to write it again: DENT_WRITE_DOCS=1 dent_gates_test --gtest_filter='Gates.*'
#include "gates/registry.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "session/plan.h"

namespace dent::registry_test {
namespace {

Project project_with(std::initializer_list<const char*> shapes) {
  Project project;
  for (const char* shape : shapes) project.shapes.push_back({shape, {}});
  return project;
}

std::vector<std::string> names(const std::vector<Step>& plan) {
  std::vector<std::string> list;
  for (const Step& step : plan) list.push_back(step.name);
  return list;
}

std::string error_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.in_one_line();
  }
  return "none";
}

TEST(Gates, SayAllThatAPlanACommandAndAPageNeed) {
  std::set<std::string_view> seen, commands;
  const Project project = project_with({"tiny"});
  for (const Gate* gate : gates()) {
    const GateInfo& info = gate->info();
    EXPECT_TRUE(seen.insert(info.name).second) << info.name << " stands twice in the list";
    EXPECT_TRUE(info.question.ends_with("?")) << info.name;
    EXPECT_FALSE(info.about.empty()) << info.name;
    EXPECT_FALSE(info.passes_when.empty()) << info.name;
    EXPECT_GT(gate->plan(project).time_box_s, 0) << info.name;
    EXPECT_FALSE(gate->plan(project).stop_rule.empty()) << info.name;
    if (info.command.empty()) continue;
    EXPECT_TRUE(commands.insert(info.command).second) << info.command;
    EXPECT_TRUE(info.example.starts_with("  dent " + std::string(info.command))) << info.name;
  }
}

// A gate comes after the gates that it needs, so there is no cycle.
TEST(Gates, StandBehindWhatTheyNeed) {
  std::set<std::string_view> before;
  for (const Gate* gate : gates()) {
    for (const std::string_view need : gate->info().needs)
      EXPECT_TRUE(before.contains(need)) << gate->info().name << " needs " << need;
    before.insert(gate->info().name);
  }
}

TEST(Gates, ACommandIsTheGateAndAllThatItNeeds) {
  EXPECT_EQ(gates_of_command(preflight_gate()), std::vector<std::string>{"preflight"});
  EXPECT_EQ(gates_of_command(correctness_gate()), (std::vector<std::string>{"build", "correctness"}));
  EXPECT_EQ(gates_of_command(performance_gate()),
            (std::vector<std::string>{"build", "baseline", "correctness", "performance"}));
}

TEST(Gates, ARunIsMadeOfTheList) {
  const Project project = project_with({"tiny", "large"});
  EXPECT_EQ(names(make_plan(project, {.gates = gates_of_run()})),
            (std::vector<std::string>{"preflight", "build", "baseline", "correctness/tiny",
                                      "correctness/large", "performance/tiny", "performance/large",
                                      "performance", "profile", "report"}));
  EXPECT_EQ(names(make_plan(project, {.gates = gates_of_run({"sanitize"}, {"baseline", "performance"}),
                                      .shapes = {"large"}})),
            (std::vector<std::string>{"preflight", "build", "correctness/large", "sanitize", "report"}));
}

TEST(Gates, WhatAShapeThatIsSlowWouldBringCanBeLeftOut) {
  const Project project = project_with({"tiny"});
  EXPECT_EQ(names(make_plan(project, {.gates = gates_of_run({}, {"profile"})})),
            (std::vector<std::string>{"preflight", "build", "baseline", "correctness/tiny",
                                      "performance/tiny", "performance", "report"}));
}

TEST(Gates, AMistakeInAPlanNamesWhatThereIs) {
  EXPECT_NE(error_of([] { gates_of_run({"sanitise"}); }).find("did you mean \"sanitize\"?"),
            std::string::npos);
  EXPECT_NE(error_of([] { gates_of_run({}, {"correctness"}); }).find("performance needs correctness"),
            std::string::npos);
  const Project project = project_with({"tiny"});
  EXPECT_NE(error_of([&] {
              make_plan(project, {.gates = {"build"}, .shapes = {"tinny"}});
            }).find("did you mean \"tiny\"?"),
            std::string::npos);
}

TEST(Gates, AreListedInTheDocuments) {
  const std::string begin = "<!-- begin: gates -->\n", end = "<!-- end: gates -->\n";
  const std::string page = text_of(DENT_GATES_PAGE);
  const std::size_t from = page.find(begin), to = page.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  const std::string wanted = page.substr(0, from) + begin + gates_as_markdown() + page.substr(to);
  if (std::getenv("DENT_WRITE_DOCS") != nullptr) {
    std::ofstream(DENT_GATES_PAGE) << wanted;
    GTEST_SKIP() << "written again";
  }
  EXPECT_TRUE(page == wanted) << "dent/docs/dent.md is out of date: DENT_WRITE_DOCS=1 writes it again";
}

}  // namespace
}  // namespace dent::registry_test
