#include "runtime/bucketing/bucket_table.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/runtime/bucketing/bucket_plan_fixture.hpp"

namespace troupe {
namespace {

using table = bucket_table<bucket>;

bucket found(const table& in, const bucket& shape) {
  const bucket* hit = in.find(shape);
  return hit != nullptr ? *hit : bucket{};
}

TEST(BucketTable, RunsTheDocumentedRequestInItsBuckets) {
  const bucket_plan plan = test::documented_plan();
  const table prompts(plan.prompt);
  const table decodes(plan.decode);
  EXPECT_EQ(found(prompts, {3, 412, 0}), (bucket{4, 512, 0}));
  EXPECT_EQ(found(decodes, {3, 1, 413}), (bucket{4, 1, 512}));
  EXPECT_EQ(found(decodes, {2, 1, 450}), (bucket{2, 1, 512}));
  EXPECT_EQ(found(decodes, {3, 1, 512}), (bucket{4, 1, 512}));
  EXPECT_EQ(found(decodes, {3, 1, 513}), (bucket{4, 1, 640}));
}

TEST(BucketTable, HasNothingBeyondEveryBucket) {
  const bucket_plan plan = test::documented_plan();
  EXPECT_EQ(table(plan.prompt).find({5, 100, 0}), nullptr);
  EXPECT_EQ(table(plan.prompt).find({1, 1025, 0}), nullptr);
  EXPECT_EQ(table(plan.prompt).find({1, 100, 1}), nullptr);
  EXPECT_EQ(table(plan.decode).find({1, 1, 5889}), nullptr);
  EXPECT_EQ(table().find({1, 1, 1}), nullptr);
}

TEST(BucketTable, PrefersFewRowsThenLittleContext) {
  const table buckets({{2, 1024, 8}, {4, 128, 8}, {4, 128, 4}, {8, 64, 9}});
  EXPECT_EQ(found(buckets, {2, 100, 5}), (bucket{4, 128, 8}));
  EXPECT_EQ(found(buckets, {2, 100, 4}), (bucket{4, 128, 4}));
  EXPECT_EQ(found(buckets, {2, 129, 0}), (bucket{2, 1024, 8}));
}

TEST(BucketTable, ForgetsWhatIsRemoved) {
  table buckets({{1, 128, 0}, {1, 256, 0}, {1, 128, 0}});
  EXPECT_EQ(buckets.all().size(), 2U);
  EXPECT_TRUE(buckets.remove({1, 128, 0}));
  EXPECT_FALSE(buckets.remove({1, 128, 0}));
  EXPECT_EQ(found(buckets, {1, 100, 0}), (bucket{1, 256, 0}));
}

TEST(BucketTable, TellsUnifiedStepsWithAndWithoutPromptsApart) {
  const bucket_table<unified_bucket> buckets({{8, 0, 8, false}, {8, 0, 8, true}, {16, 4, 8, false}});
  ASSERT_NE(buckets.find({3, 0, 5, false}), nullptr);
  EXPECT_EQ(*buckets.find({3, 0, 5, false}), (unified_bucket{8, 0, 8, false}));
  EXPECT_EQ(*buckets.find({3, 0, 5, true}), (unified_bucket{8, 0, 8, true}));
  EXPECT_EQ(*buckets.find({3, 2, 5, false}), (unified_bucket{16, 4, 8, false}));
  EXPECT_EQ(buckets.find({3, 2, 5, true}), nullptr);
}

TEST(BucketTable, FindsTheCheapestOfAllThatFitOverRandomTables) {
  std::mt19937 random(8);
  const auto draw = [&] { return static_cast<std::int32_t>(random() % 12); };
  for (int i = 0; i < 500; ++i) {
    std::vector<bucket> all;
    for (int k = 0; k < 10; ++k) all.push_back({draw() + 1, draw() + 1, draw()});
    const table buckets(all);
    const bucket shape{draw() + 1, draw() + 1, draw()};
    const bucket* best = nullptr;
    for (const bucket& each : all) {
      if (!fits(shape, each)) continue;
      const auto cost = [](const bucket& b) { return std::tuple(b.batch * b.query, b.batch * b.blocks, b); };
      if (best == nullptr || cost(each) < cost(*best)) best = &each;
    }
    const bucket* hit = buckets.find(shape);
    ASSERT_EQ(hit == nullptr, best == nullptr);
    if (hit != nullptr) {
      EXPECT_EQ(*hit, *best);
    }
  }
}

}  // namespace
}  // namespace troupe
