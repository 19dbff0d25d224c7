#include "metrics/catalogue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace troupe::metrics {
namespace {

TEST(Catalogue, IsInTheOrderOfTheEnumeration) {
  const auto all = catalogue();
  ASSERT_EQ(all.size(), static_cast<std::size_t>(metric::info) + 1);
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(static_cast<std::size_t>(all[i].id), i) << all[i].name;
}

TEST(Catalogue, NamesAreUniqueAndUnderOneOfThreePrefixes) {
  std::set<std::string_view> names;
  for (const metric_description& what : catalogue()) {
    EXPECT_TRUE(names.insert(what.name).second) << what.name;
    EXPECT_TRUE(what.name.starts_with("vllm:") || what.name.starts_with("troupe_") ||
                what.name.starts_with("process_"))
        << what.name;
    EXPECT_EQ(is_of_process(what.id), what.name.starts_with("process_")) << what.name;
    EXPECT_FALSE(what.help.empty()) << what.name;
  }
}

TEST(Catalogue, CountersEndInTotalAndOnlyHistogramsHaveBuckets) {
  for (const metric_description& what : catalogue()) {
    EXPECT_TRUE(what.type != metric_type::counter || what.name.ends_with("_total")) << what.name;
    EXPECT_EQ(what.buckets != bucket_set::none, what.type == metric_type::histogram) << what.name;
  }
}

TEST(Catalogue, BucketBoundsAreVllms) {
  EXPECT_EQ(bucket_bounds(bucket_set::token_counts, 2048),
            (std::vector<double>{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000}));
  EXPECT_EQ(bucket_bounds(bucket_set::token_counts, 100), (std::vector<double>{1, 2, 5, 10, 20, 50, 100}));
  const auto first_token = bucket_bounds(bucket_set::first_token, 0);
  ASSERT_EQ(first_token.size(), 22U);
  EXPECT_EQ(first_token.front(), 0.001);
  EXPECT_EQ(first_token.back(), 2560.0);
  const auto inter_token = bucket_bounds(bucket_set::inter_token, 0);
  ASSERT_EQ(inter_token.size(), 19U);
  EXPECT_EQ(inter_token.back(), 80.0);
  const auto latency = bucket_bounds(bucket_set::request_latency, 0);
  ASSERT_EQ(latency.size(), 21U);
  EXPECT_EQ(latency.front(), 0.3);
  EXPECT_EQ(latency.back(), 7680.0);
}

TEST(Catalogue, BucketBoundsAscend) {
  for (const bucket_set buckets :
       {bucket_set::first_token, bucket_set::inter_token, bucket_set::request_latency,
        bucket_set::token_counts, bucket_set::step_tokens, bucket_set::step_time}) {
    const auto bounds = bucket_bounds(buckets, 131'072);
    EXPECT_FALSE(bounds.empty());
    EXPECT_EQ(std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>()), bounds.end())
        << static_cast<int>(buckets);
  }
}

TEST(Catalogue, AModelOfNoLengthStillHasAHistogram) {
  EXPECT_TRUE(bucket_bounds(bucket_set::token_counts, 0).empty());
  EXPECT_TRUE(bucket_bounds(bucket_set::token_counts, -5).empty());
}

}  // namespace
}  // namespace troupe::metrics
