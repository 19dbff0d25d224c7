#include "runtime/executor/pad_batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "runtime/executor/cpu/cpu_executor.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

device_batch two_prompts_and_a_decode() {
  device_batch batch;
  batch.step = 9;
  batch.tokens = {11, 12, 13, 21, 31, 32};
  batch.positions = {0, 1, 2, 16, 16, 17};
  batch.slots = {80, 81, 82, 64, 33, 34};
  batch.sequences = {{1, 0, 3, 0, 1}, {2, 3, 1, 1, 2}, {3, 4, 2, 3, 2}};
  batch.block_tables = {5, 3, 4, 1, 2};
  batch.samples = {{.sequence = 0, .row = 2, .position = 3}, {.sequence = 1, .row = 3, .position = 17}};
  batch.prompt_logprobs = {{2, 5, 7, 0}};
  return batch;
}

TEST(PadBatch, TakesTablesFromWhereverTheyStand) {
  const device_batch own = two_prompts_and_a_decode();
  device_batch elsewhere = own;
  for (std::size_t i = 0; i < own.sequences.size(); ++i) elsewhere.tables.push_back(own.table(i).data());
  elsewhere.block_tables.clear();
  for (sequence_rows& each : elsewhere.sequences) each.table_offset = 0;
  device_batch expected;
  device_batch out;
  out.tables = {nullptr};  // of a batch before
  std::int32_t padding = 0;
  const step_placement placement{.prompt = bucket{3, 4, 2}, .decode = bucket{2, 1, 3}};
  pad_batch(own, placement, 16, expected, padding);
  pad_batch(elsewhere, placement, 16, out, padding);
  EXPECT_EQ(out.block_tables, expected.block_tables);
  for (std::size_t i = 0; i < expected.sequences.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(out.table(i), expected.table(i)));
}

TEST(PadBatch, PutsEverySequenceIntoThePlacesOfItsBucket) {
  device_batch out;
  std::int32_t padding = 0;
  pad_batch(two_prompts_and_a_decode(), {.prompt = bucket{3, 4, 2}, .decode = bucket{2, 1, 3}}, 16, out,
            padding);
  EXPECT_EQ(out.step, 9U);
  EXPECT_EQ(out.num_rows(), 3 * 4 + 2 * 1);
  EXPECT_EQ(padding, 14 - 6);
  EXPECT_EQ(out.tokens, (std::vector<token_id>{11, 12, 13, 0, 21, 31, 32, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(out.positions, (std::vector<std::int32_t>{0, 1, 2, 0, 16, 16, 17, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(out.slots, (std::vector<std::int32_t>{80, 81, 82, -1, 64, 33, 34, -1, -1, -1, -1, -1, -1, -1}));
  ASSERT_EQ(out.sequences.size(), 5U);
  EXPECT_EQ(out.sequences[0].first_row, 0);
  EXPECT_EQ(out.sequences[1].first_row, 4);
  EXPECT_EQ(out.sequences[2].first_row, 5);
  EXPECT_EQ(out.sequences[2].num_rows, 2);
  EXPECT_EQ(out.sequences[3].num_rows, 0);
  EXPECT_EQ(out.sequences[4].num_rows, 0);
  // Two blocks of context and two for the query of a prompt; three of a decode.
  EXPECT_EQ(out.block_tables,
            (std::vector<std::int32_t>{5, -1, -1, -1, 3, 4, -1, 1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(out.samples[0].row, 2);
  EXPECT_EQ(out.samples[1].row, 4);
  EXPECT_EQ(out.prompt_logprobs[0].row, 6);
}

// Behind prompts that grow, as where a step is asked for before the tokens of the one before are there.
TEST(PadBatch, MovesRowsThatTheDeviceFeeds) {
  device_batch in = two_prompts_and_a_decode();
  in.fed = {{3, 1}, {5, 0}};
  device_batch out;
  out.fed = {{99, 99}};
  std::int32_t padding = 0;
  pad_batch(in, {.prompt = bucket{3, 4, 2}, .decode = bucket{2, 1, 3}}, 16, out, padding);
  ASSERT_EQ(out.fed.size(), 2U);
  EXPECT_EQ(out.fed[0].row, 4);
  EXPECT_EQ(out.fed[0].sample, 1);
  EXPECT_EQ(out.fed[1].row, 6);
  EXPECT_EQ(out.fed[1].sample, 0);
  pad_batch(two_prompts_and_a_decode(), {}, 16, out, padding);
  EXPECT_TRUE(out.fed.empty());
}

TEST(PadBatch, LeavesWhatHasNoBucketAsItIs) {
  const device_batch in = two_prompts_and_a_decode();
  device_batch out;
  std::int32_t padding = -1;
  pad_batch(in, {}, 16, out, padding);
  EXPECT_EQ(padding, 0);
  EXPECT_EQ(out.tokens, in.tokens);
  EXPECT_EQ(out.slots, in.slots);
  EXPECT_EQ(out.block_tables, in.block_tables);
  EXPECT_EQ(out.sequences.size(), in.sequences.size());
  pad_batch(in, {.decode = bucket{1, 1, 2}}, 16, out, padding);
  EXPECT_EQ(padding, 0);
}

TEST(PadBatch, RoundsAUnifiedStepUpAtItsEnd) {
  const device_batch in = two_prompts_and_a_decode();
  device_batch out;
  std::int32_t padding = 0;
  pad_batch(in, {.unified = unified_bucket{8, 4, 4, true}}, 16, out, padding);
  EXPECT_EQ(out.num_rows(), 8);
  EXPECT_EQ(padding, 2);
  EXPECT_EQ(out.slots[7], no_slot);
  EXPECT_EQ(out.samples[1].row, 3);
}

TEST(PadBatch, ReusesWhatItIsGiven) {
  device_batch out = two_prompts_and_a_decode();
  std::int32_t padding = 0;
  pad_batch(two_prompts_and_a_decode(), {.prompt = bucket{2, 4, 2}}, 16, out, padding);
  EXPECT_EQ(out.num_rows(), 9);
  EXPECT_EQ(out.samples.size(), 2U);
}

TEST(LargestPadded, HoldsEveryBucketAndStepsThatHaveNone) {
  bucket_plan plan;
  plan.prompt = {{4, 512, 0}, {1, 1024, 0}};
  plan.decode = {{66, 1, 16}};
  EXPECT_EQ(largest_padded(plan, 600, 64).rows, 2048 + 66);
  EXPECT_EQ(largest_padded(plan, 600, 64).sequences, 64 + 66);
  EXPECT_EQ(largest_padded({}, 600, 64).rows, 664);
}

// Runs prompts in random chunks and company, padded to the buckets of `plan` or as they are; what each has
// sampled, with the log-probabilities of the whole vocabulary.
std::vector<test::driver_sequence> run(const model_ptr& model, const bucket_plan* plan,
                                       std::int32_t* padding_rows) {
  cpu_executor_options options;
  options.limits = {.max_rows = 600, .max_sequences = 48, .kv_cache_bytes = 24U << 20};
  options.threads = 2;
  auto device = make_cpu_executor(model, options);
  EXPECT_TRUE(device.has_value()) << device.error().message;
  test::executor_driver driver(**device);
  step_buckets buckets = plan != nullptr ? step_buckets(*plan, 16) : step_buckets();
  device_batch padded;
  if (plan != nullptr) {
    driver.change_batches([&](const device_batch& batch) -> const device_batch& {
      std::int32_t padding = 0;
      pad_batch(batch, buckets.place(batch), 16, padded, padding);
      *padding_rows += padding;
      return padded;
    });
  }
  std::mt19937 random(23);
  std::vector<std::size_t> all;
  for (const std::size_t length : {3U, 40U, 17U, 90U, 16U}) {
    std::vector<token_id> prompt(length);
    for (token_id& token : prompt) token = static_cast<token_id>(random() % 250);
    sampling_params sampling;
    sampling.temperature = all.size() % 2 == 0 ? 0.0F : 0.9F;
    sampling.seed = all.size();
    sampling.logprobs = model->config.vocab_size;
    all.push_back(driver.add(prompt, sampling));
  }
  for (int step = 0; step < 60; ++step) {
    std::vector<test::chunk> chunks;
    for (const std::size_t each : all) {
      const auto missing = static_cast<std::int32_t>(driver[each].tokens.size()) - driver[each].computed;
      if (driver.output(each).size() >= 8 || random() % 3 == 0) continue;
      chunks.push_back({each, 1 + static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(missing))});
    }
    if (!chunks.empty()) driver.step(chunks);
  }
  std::vector<test::driver_sequence> out;
  for (const std::size_t each : all) out.push_back(driver[each]);
  return out;
}

TEST(PadBatch, ChangesNoBitOfAnyResultOnTheCpu) {
  const auto model = test::load_from_memory(
      test::tiny_model({.weights = gguf::tensor_type::q4_1, .embedding = gguf::tensor_type::q8_0}));
  std::int32_t none = 0;
  const auto expected = run(model, nullptr, &none);
  for (const auto strategy :
       {bucketing_strategy::exponential, bucketing_strategy::linear, bucketing_strategy::unified}) {
    bucketing_options options;
    options.strategy = strategy;
    options.prompt.batch.max = 4;
    const auto plan = make_buckets(options, {8, 128, 16, 512, 64});
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    std::int32_t padding = 0;
    const auto padded = run(model, &*plan, &padding);
    EXPECT_GT(padding, 100);
    ASSERT_EQ(padded.size(), expected.size());
    for (std::size_t i = 0; i < padded.size(); ++i) {
      EXPECT_EQ(padded[i].tokens, expected[i].tokens) << i;
      ASSERT_EQ(padded[i].logprobs.size(), expected[i].logprobs.size());
      for (std::size_t k = 0; k < padded[i].logprobs.size(); ++k)
        EXPECT_EQ(padded[i].logprobs[k].top, expected[i].logprobs[k].top) << i << " " << k;
    }
  }
}

}  // namespace
}  // namespace troupe
