#include "runtime/executor/warm_up/warm_up.hpp"
#include "runtime/executor/warm_up/scratch_batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "runtime/executor/warm_up/sampler_warm_up.hpp"
#include "tests/runtime/bucketing/bucket_plan_fixture.hpp"

namespace troupe {
namespace {

const kv_layout layout{16, 100, 1};
const executor_limits limits{.max_rows = 64, .max_sequences = 6, .max_model_len = 200, .block_size = 16};

using test::plan_of;

std::vector<std::string> lines(const std::vector<warm_up_item>& items) {
  std::vector<std::string> out;
  for (const warm_up_item& item : items) {
    const std::string line = describe(item, 11983195566);
    out.push_back(line.substr(0, line.find(" free_mem")));
  }
  return out;
}

TEST(WarmUp, RunsTheLargestBucketsFirstPhaseByPhase) {
  const auto plan = plan_of({{1, 16, 0}, {1, 16, 4}, {1, 32, 0}}, {{1, 1, 4}, {1, 1, 8}, {2, 1, 4}});
  EXPECT_EQ(
      lines(warm_up_items(plan, limits, 16, warm_up_extent::every_bucket)),
      (std::vector<std::string>{
          "[Warmup][Prompt][1/3] batch:1 query:32 blocks:0",
          "[Warmup][Prompt][2/3] batch:1 query:16 blocks:4",
          "[Warmup][Prompt][3/3] batch:1 query:16 blocks:0", "[Warmup][Decode][1/3] batch:2 query:1 blocks:4",
          "[Warmup][Decode][2/3] batch:1 query:1 blocks:8", "[Warmup][Decode][3/3] batch:1 query:1 blocks:4",
          "[Warmup][Sampler][1/3] batch:0", "[Warmup][Sampler][2/3] batch:1",
          "[Warmup][Sampler][3/3] batch:2"}));
}

TEST(WarmUp, RunsOneBucketOfEveryRowCountWhereThatIsEnough) {
  const auto plan =
      plan_of({{1, 32, 2}, {1, 32, 0}, {2, 16, 1}, {1, 16, 4}}, {{1, 1, 8}, {1, 1, 4}, {2, 1, 4}});
  EXPECT_EQ(
      lines(warm_up_items(plan, limits, 16, warm_up_extent::every_row_count)),
      (std::vector<std::string>{
          "[Warmup][Prompt][1/2] batch:1 query:32 blocks:0",
          "[Warmup][Prompt][2/2] batch:1 query:16 blocks:4", "[Warmup][Decode][1/2] batch:2 query:1 blocks:4",
          "[Warmup][Decode][2/2] batch:1 query:1 blocks:4", "[Warmup][Sampler][1/3] batch:0",
          "[Warmup][Sampler][2/3] batch:1", "[Warmup][Sampler][3/3] batch:2"}));
}

const std::vector<std::int32_t> some_graphs{1, 2};

// The largest graph first, then these buckets.
void expect_graphs_before(const std::vector<bucket>& buckets, warm_up_extent extent) {
  const auto plan = plan_of({{1, 16, 0}}, {{1, 1, 8}, {2, 1, 4}, {2, 1, 900}, {3, 1, 4}});
  std::vector<std::pair<bucket, bool>> expected{{{2, 1, 1}, true}, {{1, 1, 1}, true}};
  for (const bucket& each : buckets) expected.emplace_back(each, false);
  std::vector<std::pair<bucket, bool>> decodes;
  for (const warm_up_item& item : warm_up_items(plan, limits, 16, extent, {}, some_graphs))
    if (item.phase == warm_up_phase::decode) decodes.emplace_back(item.shape, item.is_for_graph);
  EXPECT_EQ(decodes, expected);
}

TEST(WarmUp, RunsEveryGraphBeforeTheBucketsOfOtherNumbersOfRows) {
  expect_graphs_before({{3, 1, 4}}, warm_up_extent::every_row_count);
}

TEST(WarmUp, RunsEveryGraphBeforeEveryBucketWhereAllAreWanted) {
  expect_graphs_before({{3, 1, 4}, {2, 1, 900}, {2, 1, 4}, {1, 1, 8}}, warm_up_extent::every_bucket);
}

TEST(WarmUp, TunesEveryNumberOfRowsOnceSmallestFirst) {
  const auto plan =
      plan_of({{1, 32, 2}, {1, 32, 0}, {1, 4, 0}, {1, 999, 0}}, {{1, 1, 8}, {1, 1, 4}, {4, 1, 4}});
  const auto all = lines(warm_up_items(plan, limits, 16, warm_up_extent::every_bucket, {.tune = true}));
  std::vector<std::string> tuning;
  for (const std::string& line : all)
    if (line.find("[Tuning]") != std::string::npos) tuning.push_back(line);
  EXPECT_EQ(tuning, (std::vector<std::string>{"[Warmup][Tuning][1/4] batch:1 query:1 blocks:4",
                                              "[Warmup][Tuning][2/4] batch:4 query:1 blocks:4",
                                              "[Warmup][Tuning][3/4] batch:1 query:32 blocks:0",
                                              "[Warmup][Tuning][4/4] batch:1 query:64 blocks:0"}));
  EXPECT_EQ(all[all.size() - 4], tuning.back()) << "before the sampler's sizes";
}

TEST(WarmUp, TunesNothingThatIsKnown) {
  const auto plan = plan_of({{1, 32, 0}, {1, 4, 0}}, {{1, 1, 4}, {4, 1, 4}});
  std::vector<std::int32_t> tuned;
  for (const warm_up_item& item :
       warm_up_items(plan, limits, 16, warm_up_extent::every_bucket, {.tune = true, .tuned = {4}}))
    if (item.phase == warm_up_phase::tuning) tuned.push_back(item.shape.batch * item.shape.query);
  EXPECT_EQ(tuned, (std::vector<std::int32_t>{1, 32}));
}

TEST(WarmUp, TunesAFewSizesOfManyTheLargestAmongThem) {
  bucket_plan plan;
  plan.strategy = bucketing_strategy::linear;
  for (std::int32_t batch = 1; batch <= 1000; ++batch) plan.decode.push_back({batch, 1, 1});
  const executor_limits wide{.max_rows = 1000, .max_sequences = 1000, .max_model_len = 64};
  std::vector<std::int32_t> tuned;
  for (const warm_up_item& item :
       warm_up_items(plan, wide, 16, warm_up_extent::every_row_count, {.tune = true}))
    if (item.phase == warm_up_phase::tuning) tuned.push_back(item.shape.batch);
  ASSERT_FALSE(tuned.empty());
  EXPECT_LE(tuned.size(), 64U);
  EXPECT_EQ(tuned.back(), 1000);
}

TEST(WarmUp, TimesGreedyRowsOfAShortContextThenWhatOthersTakeMore) {
  const executor_limits wide{.max_rows = 64, .max_sequences = 6, .max_model_len = 3000, .block_size = 16};
  const auto timed = [](const executor_limits& of) {
    std::vector<timed_step> steps;
    for (const warm_up_item& item :
         warm_up_items({}, of, 16, warm_up_extent::every_bucket, {.verification = true}))
      if (item.phase == warm_up_phase::verification) steps.push_back(timed_step_of(item));
    return steps;
  };
  std::vector<timed_step> expected;
  for (const std::int32_t rows : {1, 2, 4, 8, 16, 32, 64}) expected.push_back({.rows = rows});
  expected.push_back({.rows = 8, .is_random = true});
  const auto twice = [](std::vector<timed_step> steps) {
    const std::vector<timed_step> pass = steps;
    steps.insert(steps.end(), pass.begin(), pass.end());
    return steps;
  };
  EXPECT_EQ(timed(limits), twice(expected)) << "no context is long";
  expected.push_back({.rows = 1, .context = 2992});
  expected.push_back({.rows = 8, .context = 2992});
  EXPECT_EQ(timed(wide), twice(expected));

  warm_up_item item;
  item.phase = warm_up_phase::verification;
  item.shape = {1, 8, 0};
  item.context = 2992;
  item.is_random = true;
  const device_batch batch = scratch_batch(item, layout, wide, 100);
  EXPECT_EQ(batch.positions.front(), 2992);
  EXPECT_EQ(batch.samples.size(), 8U);
  EXPECT_EQ(batch.samples.front().sampling->temperature, 1.0F);
}

TEST(WarmUp, TellsUnifiedBucketsAsDocumented) {
  warm_up_item item;
  item.phase = warm_up_phase::unified;
  item.unified = {2048, 256, 2890, true};
  item.number = 2;
  item.count = 375;
  EXPECT_EQ(describe(item, 11983195566),
            "[Warmup][Unified CFG][2/375] query_len:2048 shared_blocks:256 unique_blocks:2890 (causal) "
            "free_mem:11.16 GiB");
  const auto plan = make_buckets({.strategy = bucketing_strategy::unified}, {32, 2048, 128, 1024, 5781});
  ASSERT_TRUE(plan.has_value());
  const auto items = warm_up_items(*plan, limits, 128, warm_up_extent::every_bucket);
  EXPECT_EQ(items[1].count, 375);
  EXPECT_EQ(lines(items)[1],
            "[Warmup][Unified CFG][2/375] query_len:2048 shared_blocks:256 unique_blocks:2890 (causal)");
  EXPECT_EQ(lines(items)[374],
            "[Warmup][Unified CFG][375/375] query_len:8 shared_blocks:0 unique_blocks:0 (causal)");
}

TEST(WarmUp, RunsAPrefillAndADecodeWithoutBuckets) {
  const auto items = warm_up_items({}, limits, 16, warm_up_extent::every_bucket);
  EXPECT_EQ(lines(items),
            (std::vector<std::string>{"[Warmup][Prompt][1/1] batch:1 query:64 blocks:0",
                                      "[Warmup][Decode][1/1] batch:6 query:1 blocks:4",
                                      "[Warmup][Sampler][1/2] batch:0", "[Warmup][Sampler][2/2] batch:1"}));
}

void expect_well_formed(const device_batch& batch) {
  EXPECT_LE(batch.num_rows(), limits.max_rows);
  EXPECT_LE(static_cast<std::int32_t>(batch.sequences.size()), limits.max_sequences);
  EXPECT_EQ(batch.samples.size(), batch.sequences.size());
  std::set<std::int32_t> written;
  for (const std::int32_t slot : batch.slots) {
    if (slot == no_slot) continue;
    EXPECT_TRUE(written.insert(slot).second) << "two rows write slot " << slot;
    EXPECT_EQ(slot / layout.block_size, layout.num_blocks);
  }
  for (const std::int32_t block : batch.block_tables) EXPECT_EQ(block, layout.num_blocks);
  for (const sequence_rows& rows : batch.sequences) {
    if (batch.positions[static_cast<std::size_t>(rows.first_row)] == 0) continue;
    const auto slots =
        std::span(batch.slots)
            .subspan(static_cast<std::size_t>(rows.first_row), static_cast<std::size_t>(rows.num_rows));
    EXPECT_EQ(std::ranges::count(slots, no_slot), rows.num_rows) << "what it reads as stored is written";
  }
  for (const sequence_rows& rows : batch.sequences) {
    const auto last = static_cast<std::size_t>(rows.first_row + rows.num_rows - 1);
    EXPECT_LT(batch.positions[last], limits.max_model_len);
    EXPECT_EQ(rows.table_length, batch.positions[last] / layout.block_size + 1);
  }
}

TEST(ScratchBatch, TouchesTheScratchBlockAlone) {
  for (const bucket& shape : std::vector<bucket>{{1, 64, 0},
                                                 {1, 64, 8},
                                                 {2, 32, 1},
                                                 {6, 1, 4},
                                                 {50, 1, 4000},
                                                 {3, 100, 0},
                                                 {1, 500, 0},
                                                 {1, 1, 0}}) {
    for (const warm_up_phase phase : {warm_up_phase::prompt, warm_up_phase::decode, warm_up_phase::tuning}) {
      const auto batch = scratch_batch({.phase = phase, .shape = shape}, layout, limits, 50);
      EXPECT_FALSE(batch.sequences.empty());
      expect_well_formed(batch);
    }
  }
  for (const unified_bucket& shape : std::vector<unified_bucket>{
           {64, 0, 0, true}, {6, 4, 8, false}, {40, 100, 100, true}, {1, 0, 1, true}}) {
    const auto batch = scratch_batch({.phase = warm_up_phase::unified, .unified = shape}, layout, limits, 50);
    EXPECT_EQ(batch.num_rows(), shape.query);
    expect_well_formed(batch);
  }
}

TEST(ScratchBatch, HasTheShapeOfItsBucket) {
  const auto prompt =
      scratch_batch({.phase = warm_up_phase::prompt, .shape = {2, 24, 3}}, layout, limits, 50);
  ASSERT_EQ(prompt.sequences.size(), 2U);
  EXPECT_EQ(prompt.num_rows(), 48);
  EXPECT_EQ(prompt.positions[0], 48);
  const auto decode = scratch_batch({.phase = warm_up_phase::decode, .shape = {3, 1, 4}}, layout, limits, 50);
  EXPECT_EQ(decode.positions, (std::vector<std::int32_t>{63, 63, 63}));
}

TEST(ProfilingBatch, IsTheLargestStepThereCanBe) {
  const auto batch = profiling_batch(layout, limits, 50);
  EXPECT_EQ(batch.num_rows(), limits.max_rows);
  EXPECT_EQ(static_cast<std::int32_t>(batch.sequences.size()), limits.max_sequences);
  EXPECT_EQ(static_cast<std::int32_t>(batch.samples.size()), limits.max_sequences);
  expect_well_formed(batch);
}

}  // namespace
}  // namespace troupe
