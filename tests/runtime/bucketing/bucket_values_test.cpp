#include "runtime/bucketing/bucket_values.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace troupe {
namespace {

using values = std::vector<std::int32_t>;

values upwards(std::int32_t first, std::int32_t step, std::int32_t last) {
  values out;
  for (std::int32_t value = first; value <= last; value += step) out.push_back(value);
  return out;
}

values fill(const bucket_range& range) { return exponential_values(range, bucket_fill::fill); }
values drop(const bucket_range& range) { return exponential_values(range, bucket_fill::drop); }

bool ascends(const values& list) {
  return std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) == list.end();
}

TEST(ExponentialValues, FillAGapOfTheDocumentedDecodeBlocks) {
  values expected = upwards(128, 128, 1024);
  expected.insert(expected.end(), {1408, 1792, 2432, 3328, 4352, 5888});
  EXPECT_EQ(fill({128, 128, 5781, 14}), expected);
  EXPECT_EQ(expected.size(), 14U);
}

TEST(ExponentialValues, StopWhereNoMultipleIsFree) {
  EXPECT_EQ(fill({128, 128, 1024, 11}), upwards(128, 128, 1024));
}

TEST(ExponentialValues, AreThoseOfTheDocumentedChart) {
  values expected = upwards(128, 128, 1024);
  expected.insert(expected.end(), {1408, 1792, 2304, 3072, 4096});
  EXPECT_EQ(fill({128, 128, 4096, 13}), expected);
}

TEST(ExponentialValues, LeaveOutWhatIsTakenWhereTheyAreDropped) {
  EXPECT_EQ(drop({128, 128, 2048, 10}), (values{128, 256, 384, 512, 640, 896, 1152, 1536, 2048}));
}

TEST(ExponentialValues, OfALimitOf1AreTheMaximumAsItIs) {
  EXPECT_EQ(fill({1, 1, 1, 1}), (values{1}));
  EXPECT_EQ(fill({1, 2, 7, 1}), (values{7}));
  EXPECT_EQ(drop({0, 4, 138, 1}), (values{138}));
}

TEST(ExponentialValues, BeginWithTheMinimumUnroundedAndEndWithTheMaximumRoundedUp) {
  EXPECT_EQ(fill({100, 128, 1000, 2}), (values{100, 1024}));
  EXPECT_EQ(fill({1, 2, 4, 3}), (values{1, 2, 4}));
  EXPECT_EQ(fill({5, 4, 5, 3}), (values{5, 8}));
}

TEST(ExponentialValues, GoOnFromTheStepAfterAZero) {
  EXPECT_EQ(fill({0, 1, 7, 11}), upwards(0, 1, 7));
  EXPECT_EQ(fill({0, 2, 8, 3}), (values{0, 2, 4, 8}));
  EXPECT_EQ(fill({0, 4, 2, 3}), (values{0, 4}));
  EXPECT_EQ(fill({0, 4, 0, 3}), (values{0}));
}

TEST(ExponentialValues, AreExactWhereThePowerIs) {
  EXPECT_EQ(fill({2, 2, 1024, 10}), (values{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}));
  EXPECT_EQ(fill({3, 3, 2187, 7}), (values{3, 9, 27, 81, 243, 729, 2187}));
}

TEST(ExponentialValues, TakeTheNearestFreeMultipleAndOfTwoTheLower) {
  // Unrounded 8, 9.51, 11.3, 13.5, 16: 12 is taken by the second when the third asks; 8 and 16 are as far.
  EXPECT_EQ(fill({8, 4, 16, 5}), (values{8, 12, 16}));
  // Value 2 is 2.83 and takes 4; value 3 is 4 and finds 3 and 5 as near.
  EXPECT_EQ(fill({1, 1, 16, 9}), (values{1, 2, 3, 4, 5, 6, 8, 12, 16}));
}

// What the definition says, written a second time and as plainly as can be.
values by_definition(const bucket_range& r, bool fills) {
  if (r.limit == 1) return {r.max};
  const double step = r.step;
  const double min = r.min > 0 ? r.min : r.step;
  std::set<std::int32_t> taken;
  if (r.min == 0) taken.insert(0);
  const auto last = static_cast<std::int32_t>(std::ceil(r.max / step) * step);
  for (std::int32_t i = 0; i < r.limit; ++i) {
    const long double exact = std::pow(static_cast<long double>(r.max) / min, 1.0L * i / (r.limit - 1)) * min;
    auto value = static_cast<std::int32_t>(std::ceil(exact / step - 1e-9L)) * r.step;
    if (i == 0) value = static_cast<std::int32_t>(min);
    if (i == r.limit - 1) value = last;
    if (taken.insert(value).second || !fills) continue;
    std::int32_t best = 0;
    for (std::int32_t m = r.step; m <= last; m += r.step) {
      if (m < min || taken.contains(m)) continue;
      if (best == 0 || std::abs(m - exact) < std::abs(best - exact)) best = m;
    }
    if (best == 0) break;
    taken.insert(best);
  }
  return {taken.begin(), taken.end()};
}

TEST(ExponentialValues, KeepTheirPromisesOverRandomRanges) {
  std::mt19937 random(20);
  const auto draw = [&](std::int32_t low, std::int32_t high) {
    return low + static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(high - low + 1));
  };
  for (int i = 0; i < 3000; ++i) {
    bucket_range range;
    range.min = draw(0, 3) == 0 ? 0 : draw(1, 300);
    range.step = draw(1, 200);
    range.max = std::max(range.min, 1) + draw(0, draw(0, 1) == 0 ? 20 : 5000);
    range.limit = draw(2, 24);
    const std::string where = testing::PrintToString(values{range.min, range.step, range.max, range.limit});
    const values filled = fill(range);
    const values dropped = drop(range);
    const std::int32_t last = (range.max + range.step - 1) / range.step * range.step;
    for (const values& list : {filled, dropped}) {
      EXPECT_TRUE(ascends(list)) << where;
      EXPECT_EQ(list.front(), range.min) << where;
      EXPECT_EQ(list.back(), std::max(last, list.front())) << where;
      for (std::size_t k = 1; k < list.size(); ++k) EXPECT_EQ(list[k] % range.step, 0) << where;
    }
    const std::size_t wanted = static_cast<std::size_t>(range.limit) + (range.min == 0 ? 1 : 0);
    EXPECT_LE(dropped.size(), filled.size()) << where;
    EXPECT_LE(filled.size(), wanted) << where;
    if (filled.size() < wanted) {  // nothing was free any more
      const std::int32_t low = std::max(range.min, 1);
      for (std::int32_t m = (low + range.step - 1) / range.step * range.step; m <= last; m += range.step)
        EXPECT_TRUE(std::binary_search(filled.begin(), filled.end(), m)) << where << " " << m;
    }
    EXPECT_EQ(filled, by_definition(range, true)) << where;
    EXPECT_EQ(dropped, by_definition(range, false)) << where;
  }
}

TEST(LinearValues, RampUpInPowersOfTwoToTheStep) {
  EXPECT_EQ(linear_values({2, 32, 64, 1}), (values{2, 4, 8, 16, 32, 64}));
}

TEST(LinearValues, HaveNoRampWhereTheMinimumIsTheStep) {
  EXPECT_EQ(linear_values({128, 128, 512, 1}), (values{128, 256, 384, 512}));
}

TEST(LinearValues, GoUpToTheLastMultipleOfTheStep) {
  EXPECT_EQ(linear_values({1, 4, 11, 1}), (values{1, 2, 4, 8}));
  EXPECT_EQ(linear_values({3, 32, 70, 1}), (values{3, 6, 12, 24, 32, 64}));
  EXPECT_EQ(linear_values({200, 128, 600, 1}), (values{256, 384, 512}));
  EXPECT_EQ(linear_values({2, 64, 9, 1}), (values{2, 4, 8}));
}

TEST(LinearValues, GoOnFromTheStepAfterAZero) {
  EXPECT_EQ(linear_values({0, 3, 10, 1}), (values{0, 3, 6, 9}));
  EXPECT_EQ(linear_values({0, 1, 0, 1}), (values{0}));
}

TEST(LinearValues, MayBeNone) { EXPECT_TRUE(linear_values({200, 128, 210, 1}).empty()); }

TEST(DefaultBucketLimit, IsTheLogarithmRoundedUpAndOneMore) {
  for (const auto& [max, limit] : std::vector<std::pair<std::int64_t, std::int32_t>>{
           {0, 1}, {1, 1}, {2, 2}, {3, 3}, {4, 3}, {64, 7}, {1024, 11}, {1025, 12}, {5781, 14}, {4096, 13}}) {
    EXPECT_EQ(default_bucket_limit(max), limit) << max;
  }
}

}  // namespace
}  // namespace troupe
