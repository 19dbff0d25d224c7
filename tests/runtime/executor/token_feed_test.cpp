#include "runtime/executor/token_feed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace troupe {
namespace {

step_result result_of(std::uint64_t step, std::initializer_list<token_id> tokens) {
  step_result result;
  result.step = step;
  for (const token_id token : tokens) result.tokens.push_back({1, token, {}});
  return result;
}

TEST(token_feed, fills_in_what_earlier_steps_have_sampled_and_leaves_the_rest) {
  token_feed feed;
  feed.remember(result_of(7, {10, 11, 12}));
  feed.remember(result_of(8, {20}));
  step_batch batch;
  batch.step = 9;
  batch.tokens = {5, 0, 0};
  batch.positions = {0, 4, 8};
  batch.copies = {{1, 2}};
  batch.samples.resize(2);
  batch.samples[1].history = {1, 0, 0};
  batch.fed_rows = {{1, {7, 2}}, {2, {8, 0}}};
  batch.fed_histories = {{1, 1, {7, 1}}, {1, 2, {8, 0}}};
  const device_batch& rows = feed.resolve(batch);
  EXPECT_EQ(rows.step, 9U);
  EXPECT_EQ(rows.tokens, (std::vector<token_id>{5, 12, 20}));
  EXPECT_EQ(rows.positions, batch.positions);
  EXPECT_EQ(rows.samples[1].history, (std::vector<token_id>{1, 11, 20}));
  EXPECT_TRUE(rows.samples[0].history.empty());
  ASSERT_EQ(rows.copies.size(), 1U);
  EXPECT_EQ(rows.copies[0].to, 2);
}

TEST(token_feed, names_the_rows_whose_tokens_the_device_alone_knows_and_completes_histories_later) {
  token_feed feed;
  feed.remember(result_of(7, {10, 11, 12}));
  step_batch batch;
  batch.step = 8;
  batch.tokens = {5, 6};
  const device_batch& before = feed.resolve(batch);
  EXPECT_TRUE(before.fed.empty());
  batch.step = 9;
  batch.tokens = {5, 0, 0};
  batch.samples.resize(1);
  batch.samples[0].history = {1, 0, 0};
  batch.fed_rows = {{1, {7, 2}}, {2, {8, 0}}};
  batch.fed_histories = {{0, 1, {7, 1}}, {0, 2, {8, 0}}};
  device_batch& rows = feed.resolve(batch, 8);
  EXPECT_EQ(before.tokens, (std::vector<token_id>{5, 6})) << "the batch of the uncollected step stays";
  EXPECT_EQ(rows.tokens, (std::vector<token_id>{5, 12, 0}));
  ASSERT_EQ(rows.fed.size(), 1U);
  EXPECT_EQ(rows.fed[0].row, 2);
  EXPECT_EQ(rows.fed[0].sample, 0);
  feed.remember(result_of(8, {20}));
  feed.complete_histories(batch, rows);
  EXPECT_EQ(rows.samples[0].history, (std::vector<token_id>{1, 11, 20}));
}

TEST(token_feed, leaves_the_tables_where_they_stand_and_keeps_what_they_stand_in) {
  const auto memory =
      std::make_shared<const std::vector<std::int32_t>>(std::vector<std::int32_t>{4, 9, 2, 77, 5});
  step_batch batch;
  batch.sequences = {{1, 0, 1, 0, 3}, {2, 1, 1, 0, 1}};  // the first has grown by one since
  batch.tables = {memory->data(), memory->data() + 4};
  batch.keeps_tables = memory;
  token_feed feed;
  const device_batch& rows = feed.resolve(batch);
  EXPECT_TRUE(std::ranges::equal(rows.table(0), std::vector<std::int32_t>{4, 9, 2}));
  EXPECT_TRUE(std::ranges::equal(rows.table(1), std::vector<std::int32_t>{5}));
  batch = {};
  EXPECT_EQ(memory.use_count(), 2) << "the device may still read them";
}

TEST(token_feed, keeps_as_many_steps_as_may_be_in_flight) {
  token_feed feed;
  step_batch batch;
  for (std::uint64_t step = 1; step <= 100; ++step) {
    batch.step = step;
    batch.tokens.clear();
    batch.fed_rows.clear();
    for (std::uint64_t back = 1; back < most_steps_in_flight && back < step; ++back) {
      batch.fed_rows.push_back({batch.num_rows(), {static_cast<std::uint32_t>(step - back), 0}});
      batch.tokens.push_back(0);
    }
    const device_batch& rows = feed.resolve(batch);
    for (std::size_t i = 0; i < rows.tokens.size(); ++i)
      ASSERT_EQ(rows.tokens[i], static_cast<token_id>(step - i - 1) * 3);
    feed.remember(result_of(step, {static_cast<token_id>(step) * 3}));
  }
}

TEST(token_feed, gives_0_for_a_step_that_failed_and_for_a_sample_that_never_came) {
  token_feed feed;
  feed.remember(result_of(1, {9}));
  step_batch batch;
  batch.tokens = {0, 0, 0};
  batch.fed_rows = {{0, {2, 0}}, {1, {1, 1}}, {2, {1, 0}}};
  EXPECT_EQ(feed.resolve(batch).tokens, (std::vector<token_id>{0, 0, 9}));
}

}  // namespace
}  // namespace troupe
