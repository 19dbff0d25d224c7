#include "runtime/bucketing/step_buckets.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/bucketing/bucket_plan_fixture.hpp"

namespace troupe {
namespace {

// A sequence of a step: rows at the end of `tokens` tokens; its table may share blocks with others.
struct part {
  std::int32_t tokens = 1;
  std::int32_t rows = 1;
  std::vector<std::int32_t> table = {};
};

device_batch batch_of(const std::vector<part>& parts, std::int32_t block_size) {
  device_batch batch;
  std::int32_t next_block = 1000;
  for (part each : parts) {
    while (static_cast<std::int32_t>(each.table.size()) * block_size < each.tokens)
      each.table.push_back(next_block++);
    sequence_rows sequence;
    sequence.first_row = batch.num_rows();
    sequence.num_rows = each.rows;
    sequence.table_offset = static_cast<std::int32_t>(batch.block_tables.size());
    sequence.table_length = static_cast<std::int32_t>(each.table.size());
    batch.sequences.push_back(sequence);
    batch.block_tables.insert(batch.block_tables.end(), each.table.begin(), each.table.end());
    for (std::int32_t position = each.tokens - each.rows; position < each.tokens; ++position) {
      batch.tokens.push_back(1);
      batch.positions.push_back(position);
      batch.slots.push_back(0);
    }
  }
  return batch;
}

step_buckets documented_steps() { return {test::documented_plan(), 1}; }

TEST(StepShape, TellsPromptsAndDecodesOfOneStepApart) {
  const auto batch = batch_of({{33, 1}, {40, 12}, {17, 1}, {5, 5}}, 16);
  EXPECT_EQ(shape_of(batch, 16), (step_shape{{2, 12, 2}, {2, 1, 3}}));
}

TEST(StepShape, CountsTheContextBeforeAPromptAndUpToADecodesOwnToken) {
  EXPECT_EQ(shape_of(batch_of({{48, 16}}, 16), 16).prompt, (bucket{1, 16, 2}));
  EXPECT_EQ(shape_of(batch_of({{50, 16}}, 16), 16).prompt, (bucket{1, 16, 3}));
  EXPECT_EQ(shape_of(batch_of({{16, 16}}, 16), 16).prompt, (bucket{1, 16, 0}));
  EXPECT_EQ(shape_of(batch_of({{16, 1}}, 16), 16).decode, (bucket{1, 1, 1}));
  EXPECT_EQ(shape_of(batch_of({{17, 1}}, 16), 16).decode, (bucket{1, 1, 2}));
  EXPECT_EQ(shape_of({}, 16), step_shape{});
}

TEST(StepBuckets, RunTheDocumentedRequestsInTheirBuckets) {
  step_buckets buckets = documented_steps();
  const auto prompt = buckets.place(batch_of({{412, 412}, {412, 412}, {412, 412}}, 1));
  EXPECT_EQ(prompt.prompt, (bucket{4, 512, 0}));
  EXPECT_EQ(prompt.decode, std::nullopt);
  EXPECT_EQ(prompt.fallbacks(), 0);
  EXPECT_EQ(buckets.place(batch_of({{413, 1}, {413, 1}, {413, 1}}, 1)).decode, (bucket{4, 1, 512}));
  EXPECT_EQ(buckets.place(batch_of({{420, 1}, {420, 1}}, 1)).decode, (bucket{2, 1, 512}));
  EXPECT_EQ(buckets.place(batch_of({{512, 1}, {512, 1}, {512, 1}}, 1)).decode, (bucket{4, 1, 512}));
  EXPECT_EQ(buckets.place(batch_of({{513, 1}, {513, 1}, {513, 1}}, 1)).decode, (bucket{4, 1, 640}));
}

TEST(StepBuckets, TellWhatIsBeyondEveryBucketAndWarnOfAShapeOnce) {
  step_buckets buckets = documented_steps();
  const auto mixed = buckets.place(batch_of({{9, 1}, {9, 1}, {9, 1}, {9, 1}, {9, 1}, {1100, 1100}}, 1));
  EXPECT_EQ(mixed.prompt_beyond, (bucket{1, 1100, 0}));
  EXPECT_EQ(mixed.decode_beyond, (bucket{5, 1, 9}));
  EXPECT_EQ(mixed.fallbacks(), 2);
  warned_shapes<bucket>& warned = buckets.warned_decodes();
  EXPECT_TRUE(warned.lacks({5, 1, 9}));
  warned.add({5, 1, 9});
  EXPECT_FALSE(warned.lacks({5, 1, 9}));
  EXPECT_TRUE(buckets.warned_prompts().lacks({5, 1, 9}));
  for (std::int32_t i = 0; i < 5000; ++i)
    if (warned.lacks({i, 7, 7})) warned.add({i, 7, 7});
  EXPECT_FALSE(warned.lacks({6000, 7, 7})) << "it has enough";
}

TEST(StepBuckets, TakeTheNextLargerWhereOneIsLeftOut) {
  step_buckets buckets = documented_steps();
  buckets.remove_decode({4, 1, 512});
  buckets.remove_prompt({4, 512, 0});
  EXPECT_EQ(buckets.place(batch_of({{413, 1}, {413, 1}, {413, 1}}, 1)).decode, (bucket{4, 1, 640}));
  EXPECT_EQ(buckets.place(batch_of({{412, 412}, {412, 412}, {412, 412}}, 1)).prompt, (bucket{4, 640, 0}));
}

TEST(StepBuckets, HaveNothingToSayWhereThereAreNone) {
  step_buckets none;
  EXPECT_TRUE(none.empty());
  const auto placement = none.place(batch_of({{9, 1}}, 1));
  EXPECT_EQ(placement.decode, std::nullopt);
  EXPECT_EQ(placement.fallbacks(), 0);
}

TEST(UnifiedShape, CountsSharedAndUniqueBlocks) {
  std::vector<std::int32_t> scratch;
  // Two decodes share two blocks; each has one of its own.
  const auto decodes = batch_of({{40, 1, {1, 2, 3}}, {40, 1, {1, 2, 4}}}, 16);
  EXPECT_EQ(unified_shape_of(decodes, 16, scratch), (unified_bucket{2, 2, 2, false}));
  // All rows of a prompt read its context.
  const auto prompt = batch_of({{40, 8, {1, 2, 3}}, {16, 1, {9}}}, 16);
  EXPECT_EQ(unified_shape_of(prompt, 16, scratch), (unified_bucket{9, 2, 1, true}));
  EXPECT_EQ(unified_shape_of(batch_of({{8, 8}}, 16), 16, scratch), (unified_bucket{8, 0, 0, true}));
}

TEST(UnifiedShape, FindsItsBucket) {
  const auto plan = make_buckets({.strategy = bucketing_strategy::unified}, {32, 2048, 128, 1024, 5781});
  ASSERT_TRUE(plan.has_value());
  step_buckets buckets(*plan, 128);
  EXPECT_EQ(buckets.place(batch_of({{300, 1}, {200, 1}}, 128)).unified, (unified_bucket{8, 0, 8, false}));
  EXPECT_EQ(buckets.place(batch_of({{300, 300}}, 128)).unified, (unified_bucket{512, 0, 0, true}));
  const auto beyond = buckets.place(batch_of({{3000, 3000}}, 128));
  EXPECT_EQ(beyond.unified_beyond, (unified_bucket{3000, 0, 0, true}));
  buckets.remove(unified_bucket{8, 0, 8, false});
  EXPECT_EQ(buckets.place(batch_of({{300, 1}, {200, 1}}, 128)).unified, (unified_bucket{8, 0, 16, false}));
}

}  // namespace
}  // namespace troupe
