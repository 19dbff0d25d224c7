// Steps planned while others run.
#include <gtest/gtest.h>

#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

class steps_in_flight : public scheduler_test {
 protected:
  steps_in_flight() { set_up({.max_steps_in_flight = 2}); }
};

TEST_F(steps_in_flight, the_next_step_feeds_on_what_the_one_in_flight_samples) {
  submit(make_request(1, 3));
  const auto first = dispatch();
  ASSERT_NE(first, nullptr);
  EXPECT_TRUE(first->fed_rows.empty());
  const auto second = dispatch();
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(shape(second), "1x1");
  EXPECT_EQ(second->positions, (std::vector<std::int32_t>{3}));
  ASSERT_EQ(second->fed_rows.size(), 1U);
  EXPECT_EQ(second->fed_rows[0].row, 0);
  EXPECT_EQ(second->fed_rows[0].from.step, first->step);
  EXPECT_EQ(second->fed_rows[0].from.sample, 0);
  EXPECT_EQ(second->samples[0].position, 4);
  EXPECT_EQ(second->samples[0].num_generated, 1);
  EXPECT_EQ(dispatch(), nullptr) << "two steps are in flight";
  complete(*first, 8);
  const auto third = dispatch();
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(third->fed_rows[0].from.step, second->step);
  EXPECT_EQ(tested->describe(1)->generated_tokens, 1);
}

TEST_F(steps_in_flight, a_history_names_every_token_that_is_not_known) {
  set_up({.max_steps_in_flight = 3});
  submit(make_request(1, 2, {.frequency_penalty = 0.5F}));
  const auto first = dispatch();
  const auto second = dispatch();
  const auto third = dispatch();
  EXPECT_EQ(third->samples[0].history, (std::vector<token_id>{7, 7, 0, 0}));
  ASSERT_EQ(third->fed_histories.size(), 2U);
  EXPECT_EQ(third->fed_histories[0].index, 2);
  EXPECT_EQ(third->fed_histories[0].from.step, first->step);
  EXPECT_EQ(third->fed_histories[1].index, 3);
  EXPECT_EQ(third->fed_histories[1].from.step, second->step);
}

TEST_F(steps_in_flight, a_further_answer_waits_until_the_prompt_that_it_shares_is_stored) {
  set_up({.block_size = 4, .max_steps_in_flight = 2});
  submit(make_request(1, 10));
  submit(make_request(2, 10, {.fork_of = 1}));
  const auto first = dispatch();
  const auto second = dispatch();
  EXPECT_EQ(shape(first), "1x10");
  EXPECT_EQ(shape(second), "1x1") << "planned while the prompt is computed";
  complete(*first);
  const auto third = dispatch();
  EXPECT_EQ(shape(third), "1x1 2x1");
  complete(*second);
  complete(*third);
}

TEST_F(steps_in_flight, who_has_its_last_token_on_the_way_is_not_preempted) {
  set_up({.block_size = 1, .num_blocks = 5, .max_steps_in_flight = 2});
  submit(make_request(1, 2, {.max_tokens = 3}));
  submit(make_request(2, 2, {.max_tokens = 3}));
  submit(make_request(3, 1, {.max_tokens = 1}));
  const auto first = dispatch();
  EXPECT_EQ(shape(first), "1x2 2x2 3x1");
  EXPECT_EQ(dispatch(), nullptr) << "1 and 2 want a block each, and 3 gives back one";
  EXPECT_EQ(tested->describe(2)->preemptions, 1);
  EXPECT_EQ(tested->describe(3)->preemptions, 0);
  complete(*first);
}

TEST_F(steps_in_flight, blocks_that_come_back_with_the_later_step_are_waited_for_after_the_earlier_one) {
  set_up({.block_size = 1, .num_blocks = 9, .max_steps_in_flight = 2});
  for (request_id id = 1; id <= 3; ++id) submit(make_request(id, 2, {.max_tokens = 6}));
  const auto first = dispatch();
  const auto second = dispatch();
  ASSERT_EQ(shape(second), "1x1 2x1 3x1") << "each holds three of the nine blocks";
  give_back(tested->end(3, finish_reason::abort).releases);
  complete(*first);
  EXPECT_EQ(dispatch(), nullptr) << "the blocks of 3 come back with the second step";
  EXPECT_EQ(tested->counts().preemptions, 0U);
  complete(*second);
  EXPECT_EQ(shape(dispatch()), "1x1 2x1");
}

TEST_F(steps_in_flight, blocks_that_have_come_back_are_not_waited_for_again) {
  set_up({.block_size = 1, .num_blocks = 7, .max_steps_in_flight = 2});
  submit(make_request(1, 2, {.max_tokens = 5}));
  submit(make_request(2, 2, {.max_tokens = 5}));
  submit(make_request(3, 1, {.max_tokens = 1}));
  const auto first = dispatch();
  const auto second = dispatch();
  ASSERT_EQ(shape(first), "1x2 2x2 3x1");
  ASSERT_EQ(shape(second), "1x1 2x1") << "the last step of 3 is the first one";
  give_back(tested->end(3, finish_reason::abort).releases);
  complete(*first);
  dispatch();
  EXPECT_EQ(tested->counts().preemptions, 1U) << "two want a block each, and one is free";
  complete(*second);
}

TEST_F(steps_in_flight, blocks_that_came_back_with_a_step_do_not_come_back_with_a_later_one) {
  set_up({.block_size = 1, .num_blocks = 8, .max_steps_in_flight = 2});
  submit(make_request(1, 2, {.max_tokens = 6}));
  submit(make_request(2, 2, {.max_tokens = 6}));
  submit(make_request(3, 2, {.max_tokens = 1}));
  const auto first = dispatch();
  const auto second = dispatch();
  ASSERT_EQ(shape(second), "1x1 2x1");
  give_back(tested->end(3, finish_reason::abort).releases);
  complete(*first);
  const auto third = dispatch();
  ASSERT_EQ(shape(third), "1x1 2x1") << "in the blocks of 3";
  complete(*second);
  dispatch();
  EXPECT_EQ(tested->counts().preemptions, 1U) << "two want a block each, and none comes back";
}

TEST_F(steps_in_flight, a_request_is_never_planned_past_its_max_tokens) {
  submit(make_request(1, 2, {.max_tokens = 2}));
  const auto first = dispatch();
  const auto second = dispatch();
  EXPECT_EQ(dispatch(), nullptr);
  EXPECT_FALSE(complete(*first)[0].end);
  EXPECT_EQ(dispatch(), nullptr);
  EXPECT_TRUE(complete(*second)[0].end);
  EXPECT_EQ(cache->free_blocks(), 1000);
}

TEST_F(steps_in_flight, rows_of_a_request_that_has_ended_are_dropped_and_its_blocks_wait_for_its_last_step) {
  submit(make_request(1, 2));
  submit(make_request(2, 2));
  const auto first = dispatch();
  const auto second = dispatch();
  ASSERT_EQ(shape(second), "1x1 2x1");
  const auto ends = complete(*first, 0);  // the end token, for both
  EXPECT_TRUE(ends[0].end && ends[1].end);
  EXPECT_EQ(cache->free_blocks(), 998);
  EXPECT_EQ(tested->counts().running, 0);
  EXPECT_TRUE(complete(*second).empty());
  EXPECT_EQ(cache->free_blocks(), 1000);
  EXPECT_EQ(tested->counts().generation_tokens, 2U);
}

TEST_F(steps_in_flight, are_forgotten_with_a_lost_device_and_their_requests_computed_again) {
  submit(make_request(1, 2));
  complete(*dispatch(), 9);
  const auto first = dispatch();
  submit(make_request(2, 2, {.max_tokens = 1}));
  const auto second = dispatch();
  ASSERT_EQ(shape(second), "1x1 2x2");
  lose_device(blame::oldest_step);
  EXPECT_EQ(cache->free_blocks(), 1000);
  EXPECT_EQ(tested->steps_in_flight(), 0);
  EXPECT_TRUE(complete(*first).empty()) << "it comes too late";
  // The first step was request 1's alone: it is tried first, with nobody beside it.
  const auto again = dispatch();
  EXPECT_EQ(shape(again), "1x3") << "its prompt and the token that is known";
  EXPECT_EQ(again->tokens[2], 9);
  complete(*again, 10);
  EXPECT_EQ(shape(dispatch()), "1x1 2x2");
}

TEST_F(steps_in_flight, a_preempted_request_keeps_the_token_in_flight_and_comes_back_after_it) {
  set_up({.block_size = 1, .num_blocks = 6, .max_steps_in_flight = 2});
  submit(make_request(1, 2, {.max_tokens = 4}));
  submit(make_request(2, 2, {.max_tokens = 4}));
  const auto first = dispatch();   // 4 blocks
  const auto second = dispatch();  // 6 blocks
  complete(*first, 5);
  EXPECT_EQ(dispatch(), nullptr) << "blocks come back with the step in flight only";
  EXPECT_EQ(tested->counts().preemptions, 1U);
  EXPECT_EQ(tested->describe(2)->reason, "waiting: preempted, its last step still runs");
  const auto events = complete(*second, 6);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].id, 2U);
  EXPECT_EQ(events[1].tokens, token_list{6});
  const auto third = dispatch();
  EXPECT_EQ(shape(third), "1x1");
  std::size_t left = 0;
  complete(*third);
  while (tested->counts().running + tested->counts().waiting > 0)
    for (const auto& event : step()) left += event.id == 2 ? event.tokens.size() : 0U;
  EXPECT_EQ(left, 2U);
  EXPECT_EQ(cache->free_blocks(), 6);
}

TEST_F(steps_in_flight, results_come_in_the_order_of_the_steps) {
  submit(make_request(1, 2));
  const auto first = dispatch();
  const auto second = dispatch();
  EXPECT_TRUE(commit({second->step, {{1, 9, {}}}, {}, {}, {}}).events.empty());
  EXPECT_EQ(complete(*first).size(), 1U);
  EXPECT_EQ(complete(*second).size(), 1U);
}

TEST_F(steps_in_flight, a_commit_may_come_between_a_plan_and_its_reservation) {
  submit(make_request(1, 2));
  const auto first = dispatch();
  const auto demand = tested->plan();
  ASSERT_NE(demand, nullptr);
  const auto reservation = cache->reserve_step(*demand);
  complete(*first, 4);
  const auto resolved = tested->resolve(reservation);
  ASSERT_NE(resolved.batch, nullptr);
  EXPECT_TRUE(resolved.batch->fed_rows.empty()) << "the token is known by now";
  EXPECT_EQ(resolved.batch->tokens, (std::vector<token_id>{4}));
}

}  // namespace
}  // namespace troupe
