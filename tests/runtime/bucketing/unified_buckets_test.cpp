#include "runtime/bucketing/unified_buckets.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace troupe {
namespace {

using values = std::vector<std::int32_t>;

const engine_sizes larger_engine{.max_num_seqs = 32,
                                 .max_num_batched_tokens = 2048,
                                 .block_size = 128,
                                 .max_model_len = 1024,
                                 .num_blocks = 5781};

TEST(UnifiedPoints, AreAQuarterAHalfAndTheWholeOfBothValues) {
  EXPECT_EQ(unified_points(64, 4096), (values{16, 32, 64, 1024, 2048, 4096}));
  EXPECT_EQ(unified_points(32, 5781), (values{8, 16, 32, 1445, 2890, 5781}));
  EXPECT_EQ(unified_points(4, 4), (values{1, 2, 4}));
}

TEST(UnifiedBuckets, AreThe375OfTheDocumentedEngine) {
  const auto buckets = unified_buckets(larger_engine);
  ASSERT_EQ(buckets.size(), 375U);
  EXPECT_EQ(buckets[0], (unified_bucket{8, 0, 0, true}));
  EXPECT_EQ(buckets[1], (unified_bucket{8, 0, 8, false}));
  EXPECT_EQ(buckets[374], (unified_bucket{2048, 256, 5781, true}));
  EXPECT_TRUE(std::is_sorted(buckets.begin(), buckets.end()));
  // As they are warmed up, the largest first.
  EXPECT_EQ(buckets[373], (unified_bucket{2048, 256, 2890, true}));
  EXPECT_EQ(buckets[372], (unified_bucket{2048, 256, 1445, true}));
  EXPECT_EQ(buckets[371], (unified_bucket{2048, 256, 32, true}));
}

TEST(UnifiedBuckets, HoldOnlyWhatAStepCanBe) {
  for (const unified_bucket& b : unified_buckets(larger_engine)) {
    const std::int64_t shared = std::int64_t{b.shared_blocks} * 128;
    if (b.causal) {
      EXPECT_LE(shared / std::min(32, b.query), 1024);
    } else {
      EXPECT_LE(b.query, 32);
      EXPECT_GT(b.shared_blocks + b.unique_blocks, 0);
      EXPECT_LE(shared / (b.query / 2), 1024);
    }
  }
}

TEST(UnifiedBuckets, AreFoundForOneSequenceToo) {
  const auto buckets = unified_buckets({1, 4, 16, 64, 3});
  ASSERT_FALSE(buckets.empty());
  for (const unified_bucket& b : buckets) EXPECT_GE(b.query, 1);
  EXPECT_TRUE(std::ranges::find(buckets, unified_bucket{1, 0, 3, false}) != buckets.end());
}

}  // namespace
}  // namespace troupe
