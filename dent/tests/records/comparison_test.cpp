// SPDX-License-Identifier: MIT
#include "records/comparison.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "measure/simulated.h"
#include "records/json.h"

namespace dent::comparison_test {
namespace {

Sampling sampled(bool with_clocks) {
  Sampling sampling;
  sampling.pairs = test::simulated_pairs(64, 1.2, {}, 3);
  for (std::size_t i = 0; i < sampling.pairs.size(); ++i) {
    Pair& pair = sampling.pairs[i];
    pair.candidate_first = i % 3 == 0;
    if (with_clocks) pair.baseline.clock_mhz = pair.candidate.clock_mhz = i == 7 ? 1000 : 1980;
  }
  sampling.comparison = compare(sampling.pairs, {});
  return sampling;
}

TEST(SamplesRecord, ComeBackAsTheyWere) {
  for (const bool with_clocks : {false, true}) {
    const Sampling sampling = sampled(with_clocks);
    const auto record = record::samples_of("tiny", Against::baseline, sampling);
    EXPECT_EQ(record.aside.empty(), !with_clocks);
    const auto back = record::pairs_of(from_json_text<record::Samples>(to_json_text(record)));
    ASSERT_EQ(back.size(), sampling.pairs.size());
    for (std::size_t i = 0; i < back.size(); ++i) {
      EXPECT_EQ(back[i].baseline.ns, sampling.pairs[i].baseline.ns);
      EXPECT_EQ(back[i].candidate.ns, sampling.pairs[i].candidate.ns);
      EXPECT_EQ(back[i].candidate_first, sampling.pairs[i].candidate_first);
      EXPECT_EQ(back[i].candidate.clock_mhz, sampling.pairs[i].candidate.clock_mhz);
    }
    const Comparison again = compare(back, {});  // the verdict can be computed again from the record
    EXPECT_EQ(again.ratio->interval.low, sampling.comparison.ratio->interval.low);
  }
}

TEST(SamplesRecord, ListsThatDoNotFitTogetherAreAnError) {
  auto record = record::samples_of("tiny", Against::baseline, sampled(false));
  record.candidate_ns.pop_back();
  EXPECT_THROW(record::pairs_of(record), Error);
}

TEST(ComparisonRecord, WithoutAnIntervalItHasNoRatio) {
  const auto record = record::comparison_of("tiny", Against::start, Sampling{}, {});
  EXPECT_FALSE(record.ratio);
  EXPECT_EQ(record.verdict, SpeedVerdict::ambiguous);
  EXPECT_EQ(to_json_text(record).find("\"ratio\""), std::string::npos);
}

}  // namespace
}  // namespace dent::comparison_test
