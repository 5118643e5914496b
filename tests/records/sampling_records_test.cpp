// SPDX-License-Identifier: MIT
#include "records/sampling_records.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "records/record.h"
#include "measure/simulated.h"

namespace dent {
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

TEST(SamplingRecords, SamplesComeBackAsTheyWere) {
  for (const bool with_clocks : {false, true}) {
    const Sampling sampling = sampled(with_clocks);
    const auto record = samples_record("tiny", sampling);
    EXPECT_EQ(record.contains("aside"), with_clocks);
    const auto back = pairs_of(parse_record(to_line({1, "t", "samples", record})).data);
    ASSERT_EQ(back.size(), sampling.pairs.size());
    for (std::size_t i = 0; i < back.size(); ++i) {
      EXPECT_EQ(back[i].baseline.ns, sampling.pairs[i].baseline.ns);
      EXPECT_EQ(back[i].candidate.ns, sampling.pairs[i].candidate.ns);
      EXPECT_EQ(back[i].candidate_first, sampling.pairs[i].candidate_first);
      EXPECT_EQ(back[i].candidate.clock_mhz, sampling.pairs[i].candidate.clock_mhz);
    }
    const Comparison again = compare(back, {});  // a verdict can be derived again from what is on disk
    EXPECT_EQ(again.ratio->interval.low, sampling.comparison.ratio->interval.low);
  }
}

TEST(SamplingRecords, AComparisonWithoutAnIntervalHasNoRatio) {
  const auto record = comparison_record("tiny", Sampling{}, {});
  EXPECT_FALSE(record.contains("ratio"));
  EXPECT_EQ(record.at("verdict"), "AMBIGUOUS");
  EXPECT_NO_THROW(to_line({1, "t", "comparison", record}));
}

TEST(SamplingRecords, ARatioComesBackAsItWas) {
  const Ratio ratio = ratio_of(ratio_record({1.25, {1.2, 1.3}}));
  EXPECT_EQ(ratio.centre, 1.25);
  EXPECT_EQ(ratio.interval.low, 1.2);
  EXPECT_EQ(ratio.interval.high, 1.3);
  EXPECT_THROW(ratio_of({{"centre", 1}}), Error);
}

TEST(SamplingRecords, ListsThatDoNotFitTogetherAreAnError) {
  auto record = samples_record("tiny", sampled(false));
  record["candidate_ns"].erase(0);
  EXPECT_THROW(pairs_of(record), Error);
  EXPECT_THROW(pairs_of({{"shape", "tiny"}}), Error);
}

}  // namespace
}  // namespace dent
