#include "metrics/histogram.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace troupe::metrics {
namespace {

TEST(Histogram, ABoundIsPartOfItsBucket) {
  histogram values({1, 2, 4});
  for (const double value : {0.5, 1.0, 1.5, 4.0, 4.5, 100.0}) values.observe(value);
  const histogram::reading now = values.read();
  EXPECT_EQ(now.cumulative, (std::vector<std::uint64_t>{2, 3, 4, 6}));
  EXPECT_EQ(now.count(), 6U);
  EXPECT_EQ(now.sum, 111.5);
}

TEST(Histogram, WithoutBoundsItCountsAndAddsUp) {
  histogram values({});
  values.observe(3);
  EXPECT_EQ(values.read().cumulative, std::vector<std::uint64_t>{1});
  EXPECT_EQ(values.read().sum, 3);
}

TEST(Histogram, ReadingsWhileOthersObserveNeverShrinkAndLoseNothing) {
  constexpr int threads = 4;
  constexpr int rounds = 20000;
  histogram values({1, 2});
  std::vector<std::thread> writers;
  for (int t = 0; t < threads; ++t)
    writers.emplace_back([&values] {
      for (int i = 0; i < rounds; ++i) values.observe(i % 3 + 0.5);
    });
  histogram::reading last = values.read();
  for (int i = 0; i < 100; ++i) {
    const histogram::reading now = values.read();
    for (std::size_t bucket = 0; bucket < 3; ++bucket)
      EXPECT_GE(now.cumulative[bucket], last.cumulative[bucket]);
    last = now;
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(values.read().count(), static_cast<std::uint64_t>(threads) * rounds);
  double sum = 0;
  for (int i = 0; i < rounds; ++i) sum += threads * (i % 3 + 0.5);
  EXPECT_EQ(values.read().sum, sum);
}

}  // namespace
}  // namespace troupe::metrics
