// Samples whose masks were not worked out in time: their rows are computed again, and what steps in flight
// compute behind them does not count.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

class withheld_samples_test : public scheduler_test {
 protected:
  // Every sample is a 9, those listed are none.
  token_batch complete_without(const step_batch& batch, std::vector<std::int32_t> withheld) {
    step_result result = sampled(batch);
    result.withheld = std::move(withheld);
    return complete(result);
  }
};

TEST_F(withheld_samples_test, are_computed_again_for_the_same_place) {
  set_up({});
  submit(make_request(1, 5));
  submit(make_request(2, 3));
  ASSERT_EQ(shape(dispatch_and_complete()), "1x5 2x3");
  auto batch = dispatch();
  const std::int32_t position = batch->samples[0].position, slot = batch->slots[0];
  const token_batch events = complete_without(*batch, {0});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].id, 2U);
  EXPECT_EQ(tested->counts().withheld_samples, 1U);
  tested->masks_ready(std::vector<request_id>{1});
  batch = dispatch();
  EXPECT_EQ(shape(batch), "1x1 2x1");
  EXPECT_EQ(batch->samples[0].position, position);
  EXPECT_EQ(batch->tokens[0], 9) << "the last token that is known";
  EXPECT_EQ(batch->slots[0], slot);
  EXPECT_EQ(batch->samples[1].position, 3 + 2);
}

TEST_F(withheld_samples_test, leave_their_requests_out_of_steps_until_the_masks_are_there) {
  set_up({.max_steps_in_flight = 2});
  submit(make_request(1, 5));
  submit(make_request(2, 3));
  EXPECT_TRUE(tested->awaiting_masks().empty());
  const step_batch first = *dispatch();
  const step_batch second = *dispatch();
  complete_without(first, {0});
  EXPECT_EQ(tested->awaiting_masks(), std::vector<request_id>{1});
  EXPECT_EQ(tested->describe(1)->reason, "running: its grammar works out which tokens may come next");
  EXPECT_FALSE(tested->have_all_costly_grammars());
  EXPECT_EQ(shape(dispatch()), "2x1");
  complete_without(second, {1});
  EXPECT_EQ(tested->awaiting_masks(), (std::vector<request_id>{1, 2})) << "who waited longest first";
  EXPECT_TRUE(tested->have_all_costly_grammars());
  tested->masks_ready(std::vector<request_id>{7, 2});
  EXPECT_EQ(tested->awaiting_masks(), std::vector<request_id>{1});
  EXPECT_EQ(tested->describe(2)->reason, "running");
}

// Whoever may have to wait for the work on others' masks is one whose own are cheap, not one who once had a
// costly one.
TEST_F(withheld_samples_test, make_a_grammar_costly_until_a_mask_is_there_in_time) {
  set_up({});
  submit(make_request(1, 5));
  submit(make_request(2, 3));
  complete_without(*dispatch(), {0, 1});
  tested->masks_ready(std::vector<request_id>{2});
  complete_without(*dispatch(), {});
  EXPECT_TRUE(tested->have_all_costly_grammars()) << "its token was waited for";
  complete_without(*dispatch(), {});
  EXPECT_FALSE(tested->have_all_costly_grammars());
  complete_without(*dispatch(), {0});
  EXPECT_TRUE(tested->have_all_costly_grammars());
}

TEST_F(withheld_samples_test, of_a_step_that_is_being_planned_may_be_there_already) {
  set_up({.max_steps_in_flight = 2});
  submit(make_request(1, 5));
  const step_batch first = *dispatch();
  const step_demand_ptr demand = tested->plan();
  ASSERT_NE(demand, nullptr);
  EXPECT_TRUE(complete_without(first, {0}).empty());
  step_reservation granted;
  cache->reserve_step(*demand, granted);
  const step_batch second = *tested->resolve(granted).batch;
  EXPECT_EQ(second.positions, std::vector<std::int32_t>{4}) << "once more";
  EXPECT_EQ(tested->awaiting_masks().size(), 1U);
  EXPECT_EQ(complete(second).size(), 1U);
  EXPECT_TRUE(tested->awaiting_masks().empty());
}

TEST_F(withheld_samples_test, are_forgotten_with_what_is_computed_of_their_requests) {
  set_up({});
  submit(make_request(1, 5));
  submit(make_request(2, 3));
  complete_without(*dispatch(), {0, 1});
  ASSERT_EQ(tested->awaiting_masks().size(), 2U);
  EXPECT_EQ(dispatch(), nullptr);
  give_back(tested->end(1, finish_reason::abort).releases);
  EXPECT_EQ(tested->awaiting_masks(), std::vector<request_id>{2});
  tested->device_lost(blame::nobody);
  cache->lose_storage(tested->last_step());
  EXPECT_TRUE(tested->awaiting_masks().empty());
  EXPECT_EQ(shape(dispatch()), "2x3") << "it is computed anew, and its mask tried again";
}

TEST_F(withheld_samples_test, after_a_prompt_have_its_last_token_computed_again) {
  set_up({});
  submit(make_request(1, 40));
  auto batch = dispatch();
  EXPECT_TRUE(complete_without(*batch, {0}).empty());
  tested->masks_ready(std::vector<request_id>{1});
  batch = dispatch();
  ASSERT_EQ(shape(batch), "1x1");
  EXPECT_EQ(batch->positions[0], 39);
  EXPECT_EQ(batch->samples[0].num_generated, 0);
  EXPECT_EQ(complete_without(*batch, {})[0].tokens, token_list{9});
}

TEST_F(withheld_samples_test, make_what_was_planned_behind_them_be_in_vain) {
  set_up({.max_num_batched_tokens = 64, .max_steps_in_flight = 3});
  submit(make_request(1, 14));
  submit(make_request(2, 3));
  // Copies: a batch is used again once its step is committed.
  std::vector<step_batch> ahead;
  for (int i = 0; i < 3; ++i) ahead.push_back(*dispatch());
  EXPECT_EQ(complete_without(ahead[0], {0}).size(), 1U);
  tested->masks_ready(std::vector<request_id>{1});
  const step_batch again = *dispatch();
  ASSERT_EQ(again.samples[0].position, 14);
  ASSERT_EQ(again.positions[0], 13);
  EXPECT_EQ(again.fed_rows.size(), 1U) << "of the other one";
  for (const int i : {1, 2}) {
    const token_batch events = complete_without(ahead[static_cast<std::size_t>(i)], {});
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].id, 2U);
  }
  const token_batch events = complete_without(again, {});
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].id, 1U);
  EXPECT_EQ(events[0].tokens, token_list{9});
  EXPECT_EQ(cache->check(), "");
}

// The rows in vain have stored what does not belong to the text: others must not find it. Forced tokens are
// known before they are stored.
TEST_F(withheld_samples_test, are_not_taken_for_stored) {
  set_up({.block_size = 4, .max_steps_in_flight = 2, .enable_prefix_caching = true});
  submit(make_request(1, 7));
  std::vector<step_batch> ahead;
  for (int i = 0; i < 2; ++i) ahead.push_back(*dispatch());
  ASSERT_EQ(ahead[1].positions[0], 7) << "which would fill the second block";
  complete_without(ahead[0], {0});
  complete_without(ahead[1], {});
  tested->masks_ready(std::vector<request_id>{1});
  step_result forcing = sampled(*dispatch(), 7);
  forcing.forced.push_back({0, {7, 7, 7, 7}});
  EXPECT_EQ(complete(forcing)[0].tokens.size(), 5U);
  submit(make_request(2, 12));
  EXPECT_EQ(cache->cached_tokens(2), 4) << "of the twelve tokens that both have seven are stored";
}

TEST_F(withheld_samples_test, of_a_request_that_ends_meanwhile_mean_nothing) {
  set_up({.max_steps_in_flight = 2});
  submit(make_request(1, 5));
  submit(make_request(2, 5));
  const step_batch first = *dispatch();
  const step_batch second = *dispatch();
  give_back(tested->end(1, finish_reason::abort).releases);
  EXPECT_EQ(complete_without(first, {0}).size(), 1U);
  EXPECT_EQ(complete_without(second, {0}).size(), 1U);
  EXPECT_EQ(shape(dispatch()), "2x1");
  EXPECT_EQ(tested->counts().withheld_samples, 0U);
}

TEST_F(withheld_samples_test, behind_right_drafts_leave_these) {
  set_up({.adaptive_drafts = false});
  submit(make_request(1, 5));
  step();
  tested->propose({.id = 1, .after = 6, .tokens = {9, 9, 4}, .probabilities = {1.0F, 1.0F, 1.0F}});
  const step_batch batch = *dispatch();
  ASSERT_EQ(shape(std::make_shared<const step_batch>(batch)), "1x4");
  const token_batch events = complete_without(batch, {1});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].tokens, token_list{9});
  tested->masks_ready(std::vector<request_id>{1});
  const step_batch again = *dispatch();
  EXPECT_EQ(again.positions[0], 6) << "of the token that came with the first draft";
  EXPECT_EQ(again.samples[0].num_generated, 2);
}

}  // namespace
}  // namespace troupe
