// SPDX-License-Identifier: MIT
// Every mistake must be caught, by the model or by the oracle, and kernels as they are must pass all runs.
//
//     mutants_test                         each mistake in the run that caught it when that was recorded
//     mutants_test --every-case            each mistake in every run of its form
//     mutants_test --record [kernel...]    finds out which run catches each, and writes killed_by.txt
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>

#include "model/mutants/caught.h"
#include "model/mutants/harmless.h"
#include "model/mutants/killers.h"
#include "model/mutants/record.h"
#include "model/mutants/switches.h"

namespace flashmoe::test {
namespace {

constexpr const char* kRecordAgain =
    "to record the runs that catch mutants again: cmake --build --preset release --target record_mutants";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The run that caught it last time still does.
void expect_recorded_killer(const Form& form, const Switch& one, const Killers& killers) {
  const std::string recorded = killers.of(form.name, one.what);
  const std::vector<Run> runs = runs_of(form.name);
  const auto run = std::find_if(runs.begin(), runs.end(), [&](const Run& r) { return r.name == recorded; });
  if (run == runs.end()) {
    ADD_FAILURE() << form.name << ", " << one.what << ": no run is recorded that catches it\n"
                  << kRecordAgain;
    return;
  }
  const Switched switched(one.number);
  const std::string what = caught(form, *run);
  EXPECT_NE(what, "") << form.name << ", " << one.what << ": passes " << recorded << "\n" << kRecordAgain;
}

void expect_any_killer(const Form& form, const Switch& one) {
  const Switched switched(one.number);
  std::string by, how;
  for (const Run& run : runs_of(form.name)) {
    const std::string what = caught(form, run);
    if (what.empty()) continue;
    by += (by.empty() ? "" : "; ") + run.name;
    if (how.empty()) how = first_line(what);
  }
  EXPECT_NE(by, "") << form.name << " with this mistake passes everything: " << one.what;
  testing::Test::RecordProperty(form.name + ", " + one.what, by + ": " + how);
}

void expect_no_alarm(const KernelMutants& of, const Form& form) {
  for (const std::string& alarm : as_it_is(of, form).alarms)
    ADD_FAILURE() << "a false alarm about " << form.name << " as it is, " << alarm;
}

class OneTest : public testing::Test {
 public:
  explicit OneTest(std::function<void()> body) : body_(std::move(body)) {}
  void TestBody() override { body_(); }

 private:
  std::function<void()> body_;
};

void add_test(const std::string& suite, std::string name, std::function<void()> body) {
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [body]() -> testing::Test* { return new OneTest(body); });
}

// Of one kernel: its forms as they are, its mistakes, and each statement that orders its threads left out.
void add_tests(const KernelMutants& of, bool every_case, const Killers& killers) {
  const auto expect_killer = [every_case, &killers](const Form& form, const Switch& one) {
    every_case ? expect_any_killer(form, one) : expect_recorded_killer(form, one, killers);
  };
  for (const Mutant& mutant : of.mutants) {
    const Form& form = mutant.form;
    if (mutant.mistake == "none") {
      add_test(of.kernel, form.name + " as it is", [=] { expect_no_alarm(of, form); });
    } else {
      add_test(of.kernel, form.name + " " + mutant.mistake, [=] {
        expect_killer(form, {mutant.mistake, mutant.number});
      });
    }
  }
  // Every statement that a form's cases come to is needed. It is looked at again which these are, so that a
  // new one is not overlooked.
  for (const Form& form : of.line_by_line) {
    add_test(of.kernel, form.name + " line by line", [=] {
      const std::vector<Statement>& reached = as_it_is(of, form).reached;
      EXPECT_GE(reached.size(), 4U);
      for (const Statement& statement : reached) {
        if (why_harmless(form.name, reached, statement).empty())
          expect_killer(form, {without(of, statement), statement.number});
      }
    });
  }
}

}  // namespace
}  // namespace flashmoe::test

int main(int argc, char** argv) {
  using namespace flashmoe::test;
  testing::InitGoogleTest(&argc, argv);
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto has = [&](const char* word) { return !arguments.empty() && arguments[0] == word; };
  Killers killers(KILLED_BY);
  if (has("--record")) return record(killers, {arguments.begin() + 1, arguments.end()});

  std::size_t mistakes = 0;
  for (const KernelMutants& of : all_mutants()) {
    add_tests(of, has("--every-case"), killers);
    mistakes += of.mutants.size();
  }
  add_test("mutants", "none was lost", [=] { EXPECT_GE(mistakes, 650U); });  // with exact copies
  return RUN_ALL_TESTS();
}
