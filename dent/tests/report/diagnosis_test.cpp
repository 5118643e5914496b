// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "report/diagnosis_view.h"
#include "report/document.h"
#include "report/example_session.h"
#include "report/html.h"
#include "report/markdown.h"
#include "report/pictures/plots.h"
#include "report/session_view.h"

namespace dent::diagnosis_test {
namespace {

SessionView example() { return view_session("id", test::example_records(test::Story::faster)); }

void expect_in(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words)
    EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << text.substr(0, 3000);
}

TEST(DiagnosisReport, IsInEveryReport) {
  const SessionView view = example();
  expect_in(markdown_report(view, {}),
            {"## Diagnosis of large", "2 CTAs on 132 SMs", "runner-up: dram", "kv-split",
             "2 tries, median 1.25", "not applicable", "artifacts/profile.ncu-rep"});
  expect_in(html_report(view, {}), {"Diagnosis of large", "2 CTAs on 132 SMs", "softmax&lt;64&gt;",
                                    "cut the keys &amp; merge", "Diamonds"});
  expect_in(json_report(view, {}).text(), {R"("diagnoses":[{)", R"("bottleneck":"few_ctas")"});
}

TEST(DiagnosisReport, PutsTheKernelUnderTheRoofByTheBytesThatMoved) {
  expect_in(roofline_plot(example()), {"large, as profiled: 9.6 GFLOP/s at 29.3 FLOP per byte"});
}

TEST(DiagnosisReport, TextForATerminalNamesEverythingThatDecided) {
  expect_in(diagnosis_text(example().diagnoses.at(0)),
            {"too few CTAs: 2 CTAs on 132 SMs", "because", "ctas 2 < sms 132",
             "overturned  if not ctas < sms", "occupancy limited by registers", "- CTAs",
             "kv-split (3.000x expected, 2 tries, median 1.250x, 1 failed)"});
}

TEST(DiagnosisReport, ARefusalIsSaidAsOne) {
  record::Diagnosis refused;
  refused.shape = "tiny";
  refused.why = "no ncu";
  refused.finding.refusal = "whether it is \"x\" hangs on dram";
  EXPECT_EQ(headline(refused), "no diagnosis: whether it is \"x\" hangs on dram");
  expect_in(diagnosis_text(refused), {"DEGRADED    no ncu"});
}

}  // namespace
}  // namespace dent::diagnosis_test
