#include "metrics/catalogue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

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

TEST(Catalogue, TokenCountsGoBeyondEveryModelsLength) {
  const auto bounds = bucket_bounds(bucket_set::token_counts);
  const std::vector<double> first(bounds.begin(), bounds.begin() + 8);
  EXPECT_EQ(first, (std::vector<double>{1, 2, 5, 10, 20, 50, 100, 200}));
  EXPECT_EQ(bounds.back(), 2e9);
}

// A dashboard or an alert that asks for one of vLLM's bounds (le="0.3") finds it.
TEST(Catalogue, BucketBoundsHoldVllms) {
  const std::map<bucket_set, std::vector<double>> vllm{
      {bucket_set::first_token, {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
                                 1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0}},
      {bucket_set::inter_token,
       {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0,
        80.0}},
      {bucket_set::request_latency, {0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,   10.0,   15.0,  20.0,
                                     30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0}},
      {bucket_set::choices, {1, 2, 5, 10, 20}}};
  for (const auto& [buckets, bounds] : vllm) {
    const auto ours = bucket_bounds(buckets);
    EXPECT_TRUE(std::includes(ours.begin(), ours.end(), bounds.begin(), bounds.end()))
        << static_cast<int>(buckets);
    EXPECT_EQ(ours.back(), bounds.back());
  }
}

// Between 1 ms a token, which a GPU or a small model on a CPU reaches, and 100 ms a quantile is worth
// something.
TEST(Catalogue, LatenciesOfFastAndOfSlowDevicesFallIntoDifferentBuckets) {
  const auto bucket_of = [](bucket_set buckets, double value) {
    const auto bounds = bucket_bounds(buckets);
    return std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin();
  };
  for (double latency = 0.001; latency < 1; latency *= 2)
    EXPECT_LT(bucket_of(bucket_set::inter_token, latency), bucket_of(bucket_set::inter_token, 2 * latency))
        << latency;
  for (double latency = 0.001; latency < 100; latency *= 4)
    EXPECT_LT(bucket_of(bucket_set::request_latency, latency),
              bucket_of(bucket_set::request_latency, 4 * latency))
        << latency;
}

TEST(Catalogue, BucketBoundsAscend) {
  for (const bucket_set buckets :
       {bucket_set::first_token, bucket_set::inter_token, bucket_set::request_latency,
        bucket_set::token_counts, bucket_set::step_tokens, bucket_set::step_time, bucket_set::message_time,
        bucket_set::choices}) {
    const auto bounds = bucket_bounds(buckets);
    EXPECT_FALSE(bounds.empty());
    EXPECT_EQ(std::adjacent_find(bounds.begin(), bounds.end(), std::greater_equal<>()), bounds.end())
        << static_cast<int>(buckets);
  }
}

TEST(Catalogue, StepsAreToldApartUpToTheUsualDeadline) {
  EXPECT_EQ(bucket_bounds(bucket_set::step_time).back(), 120.0);
}

}  // namespace
}  // namespace troupe::metrics
