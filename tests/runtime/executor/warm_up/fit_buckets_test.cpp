#include "runtime/executor/warm_up/fit_buckets.hpp"

#include <gtest/gtest.h>
#include "tests/runtime/bucketing/bucket_plan_fixture.hpp"

namespace troupe {
namespace {

using test::plan_of;

// A device with room for steps of `most` rows.
struct device {
  std::int32_t most = 0;
  std::int32_t asked = 0;
  std::function<result<void>(const padded_limits&)> reserve() {
    return [this](const padded_limits& wanted) -> result<void> {
      ++asked;
      if (wanted.rows <= most) return {};
      return fail(error_code::resource_exhausted, "no room for " + std::to_string(wanted.rows));
    };
  }
};

TEST(FitBuckets, LeavesNothingOutWhereEverythingFits) {
  device roomy{1000};
  bucket_plan plan = plan_of({{1, 128, 0}, {1, 256, 0}}, {{4, 1, 8}});
  padded_limits holds;
  EXPECT_TRUE(fit_buckets(plan, 64, 8, roomy.reserve(), holds).empty());
  EXPECT_EQ(roomy.asked, 1);
  EXPECT_EQ(plan.prompt.size(), 2U);
  const padded_limits largest = largest_padded(plan, 64, 8);
  EXPECT_EQ(holds.rows, largest.rows);
  EXPECT_EQ(holds.sequences, largest.sequences);
}

TEST(FitBuckets, LeavesTheLargestOutUntilTheOthersFit) {
  device small{300};
  bucket_plan plan = plan_of({{1, 128, 0}, {1, 256, 0}, {1, 512, 0}, {1, 512, 4}, {2, 256, 0}}, {{4, 1, 8}});
  padded_limits holds;
  const auto out = fit_buckets(plan, 64, 8, small.reserve(), holds);
  ASSERT_EQ(out.size(), 1U) << "(1, 512, 0), (1, 512, 4) and (2, 256, 0) have equally many rows";
  EXPECT_EQ(out[0].rows, 512);
  EXPECT_EQ(out[0].count, 3U);
  EXPECT_EQ(out[0].first, "prompt bucket (1, 512, 0)");
  EXPECT_NE(out[0].why.find("no room for"), std::string::npos);
  EXPECT_EQ(plan.prompt, (std::vector<bucket>{{1, 128, 0}, {1, 256, 0}}));
  EXPECT_LE(holds.rows, 300);
  EXPECT_EQ(holds.rows, largest_padded(plan, 64, 8).rows);
}

TEST(FitBuckets, ReachesDecodesAndUnifiedOnesToo) {
  device small{40};
  bucket_plan plan = plan_of({{1, 16, 0}}, {{8, 1, 8}, {4000, 1, 8}});
  plan.unified = {{16, 0, 0, true}, {4096, 0, 0, true}};
  padded_limits holds;
  const auto out = fit_buckets(plan, 16, 8, small.reserve(), holds);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[0].first, "unified bucket (4096, 0, 0, 1)");
  EXPECT_EQ(out[1].first, "decode bucket (4000, 1, 8)");
  EXPECT_EQ(plan.decode, (std::vector<bucket>{{8, 1, 8}}));
}

TEST(FitBuckets, AsksForNothingWhereNoBucketIsLeft) {
  device none{0};
  bucket_plan plan = plan_of({{1, 16, 0}, {1, 32, 0}}, {{4, 1, 8}});
  padded_limits holds{7, 7};
  EXPECT_EQ(fit_buckets(plan, 16, 8, none.reserve(), holds).size(), 3U);
  EXPECT_TRUE(plan.prompt.empty() && plan.decode.empty());
  EXPECT_EQ(holds.rows, 0);
  EXPECT_EQ(holds.sequences, 0);
}

TEST(FitBuckets, RemovesFromANumberOfRowsOn) {
  bucket_plan plan = plan_of({{1, 16, 0}, {1, 32, 0}, {1, 48, 0}}, {{31, 1, 8}, {32, 1, 8}});
  plan.unified = {{31, 0, 0, true}, {33, 0, 0, true}};
  remove_from(plan, 32);
  EXPECT_EQ(plan.prompt, (std::vector<bucket>{{1, 16, 0}}));
  EXPECT_EQ(plan.decode, (std::vector<bucket>{{31, 1, 8}}));
  EXPECT_EQ(plan.unified, (std::vector<unified_bucket>{{31, 0, 0, true}}));
}

}  // namespace
}  // namespace troupe
