// Who is admitted, in which order, and what a prompt may take of a step.
#include <gtest/gtest.h>

#include <map>

#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

using std::chrono::seconds;
using admission = scheduler_test;

TEST_F(admission, decodes_come_before_the_chunks_of_older_prompts) {
  set_up({.max_num_batched_tokens = 12, .long_prefill_token_threshold = 4, .max_num_partial_prefills = 3});
  submit(make_request(1, 100));
  submit(make_request(2, 2));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x4 2x2");
  submit(make_request(3, 100));
  submit(make_request(4, 100));
  EXPECT_EQ(shape(dispatch_and_complete()), "2x1 1x4 3x4 4x3");
  for (int i = 0; i < 10; ++i) {
    const auto batch = dispatch_and_complete();
    EXPECT_EQ(batch->sequences[0].id, 2U);
  }
}

TEST_F(admission, only_so_many_prompts_are_cut_at_the_same_time) {
  set_up({.max_num_batched_tokens = 20, .long_prefill_token_threshold = 6, .max_num_partial_prefills = 2});
  for (request_id id = 1; id <= 4; ++id) submit(make_request(id, 30));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x6 2x6");
  EXPECT_EQ(shape(dispatch_and_complete()), "1x6 2x6");
}

TEST_F(admission, without_chunks_a_prompt_waits_until_all_of_it_fits) {
  set_up({.max_num_batched_tokens = 20,
          .max_model_len = 20,
          .enable_chunked_prefill = false,
          .long_prefill_token_threshold = 5});  // of chunks, and there are none
  submit(make_request(1, 12, {.max_tokens = 4}));
  submit(make_request(2, 12, {.max_tokens = 4}));
  submit(make_request(3, 2, {.max_tokens = 4}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x12") << "nobody passes the one that does not fit";
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x12 3x2");
}

TEST_F(admission, a_watermark_stays_free_unless_nobody_else_runs) {
  set_up({.block_size = 1, .num_blocks = 20, .watermark = 0.2});
  submit(make_request(1, 14, {.max_tokens = 2}));
  submit(make_request(2, 3, {.max_tokens = 2}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x14") << "3 of the 6 left would leave less than 4";
  EXPECT_EQ(tested->describe(2)->reason, "waiting: no blocks (needs 7, free 6)");
  dispatch_and_complete();
  submit(make_request(3, 18, {.max_tokens = 2}));
  EXPECT_EQ(shape(dispatch_and_complete()), "2x3");
  dispatch_and_complete();
  EXPECT_EQ(shape(dispatch_and_complete()), "3x18");
}

TEST_F(admission, new_tokens_of_the_running_requests_are_provided_for_where_asked) {
  for (const bool reserve : {false, true}) {
    set_up({.block_size = 1, .num_blocks = 50, .reserve_new_tokens = reserve});
    for (request_id id = 1; id <= 3; ++id) submit(make_request(id, 4, {.max_tokens = 20}));
    // 1 and 2 need 48 of the 50 tokens, if they generate all that they may.
    EXPECT_EQ(shape(dispatch_and_complete()), reserve ? "1x4 2x4" : "1x4 2x4 3x4");
  }
}

TEST_F(admission, what_is_kept_free_for_new_tokens_falls_while_nobody_is_preempted) {
  set_up({.block_size = 1, .num_blocks = 903, .reserve_new_tokens = true});
  submit(make_request(1, 4, {.max_tokens = 900}));
  dispatch_and_complete();
  submit(make_request(2, 280, {.max_tokens = 1}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1") << "628 are kept for request 1";
  // A step takes a block and 0.7 of what was kept for it: only a falling share ever makes room.
  for (int steps = 0; steps < 60 && tested->counts().waiting > 0; ++steps) dispatch_and_complete();
  EXPECT_EQ(tested->counts().waiting, 0);
}

TEST_F(admission, by_priority_the_lowest_number_goes_first_and_equal_ones_by_arrival) {
  set_up({.max_num_seqs = 1, .policy = scheduling_policy::priority});
  submit(make_request(1, 2, {.max_tokens = 1, .priority = 5}));
  submit(make_request(2, 2, {.max_tokens = 1, .priority = 1}));
  submit(make_request(3, 2, {.max_tokens = 1, .priority = 5}));
  submit(make_request(4, 2, {.max_tokens = 1, .priority = 1}));
  std::string order;
  while (const auto batch = dispatch_and_complete()) order += shape(batch) + " ";
  EXPECT_EQ(order, "2x2 4x2 1x2 3x2 ");
}

TEST_F(admission, by_priority_a_better_request_takes_the_place_of_a_worse_one) {
  set_up({.max_num_seqs = 2, .policy = scheduling_policy::priority});
  submit(make_request(1, 2, {.priority = 3}));
  submit(make_request(2, 2, {.priority = 7}));
  dispatch_and_complete();
  submit(make_request(3, 2, {.max_tokens = 2, .priority = 5}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 3x2");
  EXPECT_EQ(tested->counts().preemptions, 1U);
  EXPECT_EQ(tested->describe(2)->preemptions, 1);
  submit(make_request(4, 2, {.priority = 3}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 4x2") << "equal ones are not preempted";
}

TEST_F(admission, who_loses_its_place_by_priority_gives_its_blocks_back) {
  set_up({.max_num_seqs = 1, .block_size = 1, .num_blocks = 12, .policy = scheduling_policy::priority});
  submit(make_request(1, 4, {.max_tokens = 5, .priority = 7}));
  dispatch_and_complete();
  submit(make_request(2, 2, {.max_tokens = 2, .priority = 5}));
  dispatch_and_complete();
  EXPECT_EQ(cache->free_blocks(), 10) << "request 2 alone holds blocks";
}

TEST_F(admission, by_priority_a_better_request_takes_the_blocks_of_worse_ones) {
  set_up({.block_size = 1, .num_blocks = 12, .policy = scheduling_policy::priority});
  submit(make_request(1, 5, {.max_tokens = 3, .priority = 1}));
  submit(make_request(2, 4, {.max_tokens = 3, .priority = 9}));
  dispatch_and_complete();
  submit(make_request(3, 4, {.max_tokens = 1, .priority = 2}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1") << "its rows go with its blocks";
  EXPECT_EQ(tested->describe(2)->phase, request_phase::waiting);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 3x4");
}

TEST_F(admission, several_answers_wait_for_the_first_ones_prompt_and_share_it) {
  set_up({.max_num_batched_tokens = 8, .block_size = 4});
  submit(make_request(1, 10));
  submit(make_request(2, 10, {.fork_of = 1}));
  submit(make_request(3, 2));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x8");
  EXPECT_EQ(tested->describe(2)->reason, "waiting: the first choice computes the prompt");
  EXPECT_EQ(shape(dispatch_and_complete()), "1x2 3x2") << "it keeps nobody from running";
  const auto batch = dispatch_and_complete();
  EXPECT_EQ(shape(batch), "1x1 3x1 2x1") << "the last token is computed again";
  ASSERT_EQ(batch->copies.size(), 1U);
  EXPECT_EQ(tested->describe(2)->cached_tokens, 9);
  tested->end(1, finish_reason::abort);
}

TEST_F(admission, further_answers_in_the_queue_keep_no_better_request_from_a_worse_ones_place) {
  set_up({.max_num_seqs = 2, .policy = scheduling_policy::priority});
  submit(make_request(1, 2, {.priority = 0}));
  dispatch_and_complete();
  submit(make_request(2, 4, {.priority = -5}));
  submit(make_request(3, 4, {.priority = -5, .fork_of = 2}));
  submit(make_request(4, 2, {.max_tokens = 1, .priority = -4}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x4");
  EXPECT_EQ(shape(dispatch_and_complete()), "2x1 3x1") << "the second answer is worth more than request 1";
  tested->end(3, finish_reason::abort);
  EXPECT_EQ(shape(dispatch_and_complete()), "2x1 4x2");
}

TEST_F(admission, further_answers_of_an_accepted_request_are_let_in_and_have_no_queue_deadline) {
  set_up({.max_num_seqs = 1, .max_num_queued_requests = 0});
  const steady_time start{};
  submit(make_request(1, 2, {.queue_deadline = start + seconds(3)}));
  for (request_id id = 2; id <= 4; ++id)
    submit(make_request(id, 2, {.queue_deadline = start + seconds(3), .fork_of = 1}));
  EXPECT_FALSE(tested->submit(make_request(5, 2))) << "the first is in the queue";
  dispatch_and_complete();
  EXPECT_TRUE(tested->expire(start + seconds(9)).events.empty()) << "the first runs";
}

TEST_F(admission, further_answers_of_a_refused_request_are_refused_with_it) {
  set_up({.max_num_seqs = 1, .max_num_queued_requests = 0});
  submit(make_request(1, 2));
  EXPECT_FALSE(tested->submit(make_request(2, 2)));
  const auto second = tested->submit(make_request(3, 2, {.fork_of = 2}));
  ASSERT_FALSE(second) << "the queue would grow beyond its limit";
  EXPECT_EQ(second.error().code, error_code::resource_exhausted);
  tested->end(1, finish_reason::abort);
  EXPECT_EQ(tested->counts().waiting, 0);
  EXPECT_FALSE(tested->submit(make_request(4, 2, {.fork_of = 2}))) << "half a request would be let in";
  submit(make_request(5, 2));
}

// Its message was lost and has come again, behind those of the other answers.
TEST_F(admission, a_full_queue_takes_the_first_answer_of_a_request_that_is_in) {
  set_up({.max_num_seqs = 1, .max_num_queued_requests = 0});
  submit(make_request(3, 2, {.fork_of = 2}));
  EXPECT_TRUE(tested->submit(make_request(2, 2))) << "half a request would be let in";
  EXPECT_FALSE(tested->submit(make_request(4, 2))) << "a request that has no answer here";
}

TEST_F(admission, further_answers_are_let_in_where_the_first_has_ended_already) {
  set_up({.max_num_seqs = 1, .max_num_queued_requests = 0});
  submit(make_request(1, 2, {.max_tokens = 1}));
  dispatch_and_complete();
  submit(make_request(2, 2));
  EXPECT_FALSE(tested->submit(make_request(3, 2)));
  submit(make_request(4, 2, {.fork_of = 1}));
}

// Each computes its own prompt.
TEST_F(admission, prompts_of_one_request_are_let_in_together_and_have_one_queue_deadline) {
  set_up({.max_num_seqs = 1, .max_num_queued_requests = 0});
  const steady_time start{};
  submit(make_request(1, 2, {.queue_deadline = start + seconds(3)}));
  submit(make_request(2, 3, {.queue_deadline = start + seconds(3), .joins = 1}));
  submit(make_request(3, 3, {.queue_deadline = start + seconds(3), .fork_of = 2, .joins = 1}));
  EXPECT_FALSE(tested->submit(make_request(4, 2))) << "the queue is full";
  EXPECT_EQ(shape(dispatch_and_complete()), "1x2");
  EXPECT_TRUE(tested->expire(start + seconds(9)).events.empty()) << "the first runs";
  tested->end(1, finish_reason::abort);
  EXPECT_EQ(shape(dispatch_and_complete()), "2x3");
}

TEST_F(admission, a_first_prompt_whose_request_has_begun_has_no_queue_deadline) {
  set_up({.max_num_seqs = 1, .max_num_batched_tokens = 8});
  const steady_time start{};
  submit(make_request(2, 2, {.queue_deadline = start + seconds(3), .joins = 1}));
  dispatch_and_complete();
  submit(make_request(1, 2, {.queue_deadline = start + seconds(3)}));
  EXPECT_EQ(tested->expire(start + seconds(9)).events.size(), 1U) << "it has come later";
  set_up({.max_num_seqs = 1, .policy = scheduling_policy::priority});
  submit(make_request(1, 2, {.queue_deadline = start + seconds(3), .priority = 5}));
  submit(make_request(2, 2, {.priority = 0, .joins = 1}));
  EXPECT_EQ(shape(dispatch_and_complete()), "2x2");
  EXPECT_TRUE(tested->expire(start + seconds(9)).events.empty());
}

TEST_F(admission, a_queue_deadline_ends_all_answers_of_a_request_that_has_not_begun) {
  set_up({.max_num_seqs = 1, .max_num_batched_tokens = 8});
  const steady_time due = steady_time() + seconds(3);
  submit(make_request(1, 2));
  dispatch_and_complete();
  submit(make_request(2, 2, {.queue_deadline = due}));
  submit(make_request(3, 2, {.queue_deadline = due, .fork_of = 2}));
  submit(make_request(4, 3, {.queue_deadline = due, .joins = 2}));
  submit(make_request(5, 2));
  const scheduler_output output = tested->expire(due);
  give_back(output.releases);
  ASSERT_EQ(output.events.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(output.events[i].id, 2 + i);
    ASSERT_TRUE(output.events[i].end && output.events[i].end->failure);
    EXPECT_EQ(output.events[i].end->failure->code, error_code::unavailable);
  }
  EXPECT_EQ(tested->counts().waiting, 1);
  EXPECT_EQ(tested->next_deadline(), std::nullopt);
  EXPECT_FALSE(tested->submit(make_request(6, 2, {.joins = 2}))) << "half a request would be let in";
  tested->end(1, finish_reason::abort);
  EXPECT_EQ(shape(dispatch_and_complete()), "5x2");
}

TEST_F(admission, prompts_of_a_refused_request_are_refused_with_it) {
  set_up({.max_num_seqs = 1, .max_num_queued_requests = 0});
  submit(make_request(1, 2));
  EXPECT_FALSE(tested->submit(make_request(2, 2)));
  tested->end(1, finish_reason::abort);
  EXPECT_FALSE(tested->submit(make_request(3, 2, {.joins = 2})));
  EXPECT_FALSE(tested->submit(make_request(4, 2, {.fork_of = 3, .joins = 2})));
  submit(make_request(5, 2));
}

TEST_F(admission, prompts_give_way_all_together_or_where_one_has_begun_not_at_all) {
  for (const bool begins : {false, true}) {
    set_up({.max_num_seqs = 1, .max_num_queued_requests = 2, .policy = scheduling_policy::priority});
    if (!begins) submit(make_request(1, 2));
    if (!begins) dispatch_and_complete();
    submit(make_request(2, 2, {.priority = 10}));
    if (begins) dispatch_and_complete();
    submit(make_request(3, 2, {.priority = 10, .joins = 2}));
    submit(make_request(4, 2, {.priority = 10, .joins = 2}));
    const auto better = tested->submit(make_request(5, 2, {.priority = 0}));
    EXPECT_EQ(better.has_value(), !begins);
    if (better) {
      EXPECT_EQ(better->events.size(), 3U);
    }
    EXPECT_EQ(tested->describe(3).has_value(), begins);
  }
}

TEST_F(admission, a_reservation_counts_what_the_request_itself_may_generate) {
  for (const bool reserve : {false, true}) {
    set_up({.block_size = 1, .num_blocks = 40, .watermark = 0, .reserve_new_tokens = reserve});
    submit(make_request(1, 4, {.max_tokens = 4}));
    dispatch_and_complete();
    submit(make_request(2, 4, {.max_tokens = 35}));
    EXPECT_EQ(shape(dispatch_and_complete()), reserve ? "1x1" : "1x1 2x4");
  }
}

TEST_F(admission, a_full_step_and_other_prompts_are_named_as_what_a_request_waits_for) {
  set_up({.max_num_batched_tokens = 4, .max_num_partial_prefills = 1});
  submit(make_request(1, 3));
  submit(make_request(2, 9));
  submit(make_request(3, 9));
  dispatch_and_complete();
  EXPECT_EQ(tested->describe(3)->reason, "waiting: the steps are full (max_num_batched_tokens)");
  tested->end(1, finish_reason::abort);
}

TEST_F(admission, an_answer_whose_first_is_gone_runs_alone) {
  submit(make_request(1, 10));
  submit(make_request(2, 10, {.fork_of = 1}));
  submit(make_request(3, 10, {.prompt_logprobs = 1, .fork_of = 1}));
  const auto ended = tested->end(1, finish_reason::abort);
  give_back(ended.releases);
  EXPECT_EQ(shape(dispatch_and_complete()), "2x10 3x10");
}

TEST_F(admission, a_request_that_waits_too_long_is_refused_and_told_when_to_come_back) {
  set_up({.max_num_seqs = 1});
  const steady_time start{};
  submit(make_request(1, 2, {.queue_deadline = start + seconds(3)}));
  submit(make_request(2, 2, {.queue_deadline = start + seconds(3)}));
  dispatch_and_complete();
  EXPECT_EQ(tested->next_deadline(), start + seconds(3));
  const auto output = tested->expire(start + seconds(3));
  ASSERT_EQ(output.events.size(), 1U) << "the first has run in time";
  EXPECT_EQ(output.events[0].id, 2U);
  EXPECT_EQ(output.events[0].end->failure->code, error_code::unavailable);
  EXPECT_EQ(output.events[0].end->failure->retry_after, 3);
  EXPECT_FALSE(tested->next_deadline());
}

TEST_F(admission, a_cached_prefix_is_not_computed_again) {
  set_up({.block_size = 4, .enable_prefix_caching = true});
  submit(make_request(1, 11, {.max_tokens = 6}));
  while (tested->counts().running > 0 || tested->counts().waiting > 0) step();
  submit(make_request(2, 11));
  const auto batch = dispatch_and_complete();
  EXPECT_EQ(shape(batch), "2x3");
  EXPECT_EQ(batch->positions.front(), 8);
  EXPECT_EQ(tested->counts().cached_tokens, 8U);
  submit(make_request(3, 11, {.prompt_logprobs = 1}));
  EXPECT_EQ(shape(dispatch_and_complete()), "2x1 3x11") << "all of its prompt is wanted";
}

TEST_F(admission, a_context_can_be_filled_to_its_last_token) {
  set_up({.max_model_len = 10});
  submit(make_request(1, 9, {.max_tokens = 1}));
  submit(make_request(2, 4, {.max_tokens = 6}));
  EXPECT_FALSE(tested->submit(make_request(3, 4, {.max_tokens = 7})));
}

TEST_F(admission, without_max_tokens_a_request_runs_to_the_end_of_a_pool_that_is_smaller) {
  set_up({.block_size = 1, .num_blocks = 10});
  submit(make_request(1, 4, {.max_tokens = std::nullopt}));
  std::int32_t generated = 0;
  while (generated < 20 && tested->counts().running + tested->counts().waiting > 0)
    for (const token_event& event : step()) generated += static_cast<std::int32_t>(event.tokens.size());
  EXPECT_EQ(generated, 7) << "the last one is never stored";
}

TEST_F(admission, no_more_tokens_can_be_asked_for_than_the_context_leaves) {
  set_up({.max_model_len = 10});
  const auto with = [&](request_id id, std::int32_t min_tokens) {
    return tested->submit(make_request(id, 4, {.max_tokens = std::nullopt, .min_tokens = min_tokens}));
  };
  EXPECT_TRUE(with(1, 6));
  const auto refused = with(2, 7);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().param, "min_tokens");
  EXPECT_EQ(refused.error().code, error_code::context_length_exceeded);
}

TEST_F(admission, a_request_without_parameters_is_refused) {
  engine_request request = make_request(1, 2);
  request.sampling = nullptr;
  EXPECT_EQ(tested->submit(std::move(request)).error().code, error_code::internal);
}

TEST_F(admission, a_full_queue_names_how_long_its_first_has_waited) {
  set_up({.max_num_seqs = 1, .max_num_queued_requests = 0});
  submit(make_request(1, 2));
  engine_request late = make_request(2, 2);
  late.arrival += seconds(7);
  EXPECT_EQ(tested->submit(std::move(late)).error().retry_after, 7);
}

TEST_F(admission, a_better_request_takes_the_place_of_the_worst_in_a_full_queue) {
  set_up({.max_num_seqs = 1, .max_num_queued_requests = 2, .policy = scheduling_policy::priority});
  submit(make_request(1, 2, {.priority = 5}));
  dispatch_and_complete();
  submit(make_request(2, 2, {.priority = 5}));
  submit(make_request(3, 2, {.priority = 6}));
  EXPECT_FALSE(tested->submit(make_request(4, 2, {.priority = 6}))) << "it is no better";
  engine_request better = make_request(5, 2, {.priority = 0});
  better.arrival += seconds(7);
  const auto accepted = tested->submit(std::move(better));
  ASSERT_TRUE(accepted);
  ASSERT_EQ(accepted->events.size(), 1U);
  const token_event& end = accepted->events.front();
  EXPECT_EQ(end.id, 3U);
  EXPECT_EQ(end.end->failure->code, error_code::unavailable);
  EXPECT_EQ(end.end->failure->retry_after, 7);
  EXPECT_FALSE(tested->describe(3));
  EXPECT_EQ(tested->counts().waiting, 2);
  cache->add_request(make_request(5, 2));
  EXPECT_EQ(shape(dispatch_and_complete()), "5x2") << "it takes the place of request 1";
}

TEST_F(admission, who_gives_way_does_so_with_all_its_answers) {
  set_up({.max_num_seqs = 1, .max_num_queued_requests = 2, .policy = scheduling_policy::priority});
  submit(make_request(1, 2));
  dispatch_and_complete();
  submit(make_request(2, 2, {.priority = 5}));
  submit(make_request(3, 2, {.priority = 5, .fork_of = 2}));
  submit(make_request(4, 2, {.prompt_logprobs = 1, .priority = 5, .fork_of = 2}));
  const auto accepted = tested->submit(make_request(5, 2, {.priority = 4}));
  ASSERT_TRUE(accepted);
  EXPECT_EQ(accepted->events.size(), 3U);
  EXPECT_EQ(tested->counts().waiting, 1);
  EXPECT_FALSE(tested->submit(make_request(6, 2, {.priority = 5, .fork_of = 2}))) << "one that came late";
}

TEST_F(admission, nobody_gives_way_whose_answer_has_begun) {
  set_up({.max_num_seqs = 2, .max_num_queued_requests = 0, .policy = scheduling_policy::priority});
  submit(make_request(1, 2, {.max_tokens = 1, .priority = 5}));
  dispatch_and_complete();
  submit(make_request(2, 2, {.priority = 0}));
  dispatch_and_complete();
  submit(make_request(3, 2, {.priority = 5}));
  dispatch_and_complete();
  submit(make_request(4, 2, {.priority = 5, .fork_of = 3}));
  EXPECT_FALSE(tested->submit(make_request(5, 2, {.priority = 1}))) << "request 3 has begun, and 4 is of it";
}

TEST_F(admission, only_under_priority_does_anybody_give_way) {
  for (const scheduling_policy policy :
       {scheduling_policy::fcfs, scheduling_policy::lpm, scheduling_policy::drr}) {
    set_up({.max_num_seqs = 1, .max_num_queued_requests = 0, .policy = policy});
    submit(make_request(1, 2, {.priority = 5}));
    EXPECT_FALSE(tested->submit(make_request(2, 2, {.priority = 0})));
  }
}

TEST_F(admission, only_the_refused_of_late_are_remembered) {
  set_up({.max_num_seqs = 1, .max_num_queued_requests = 0});
  submit(make_request(1, 2));
  for (request_id id = 2; id <= 1026; ++id) EXPECT_FALSE(tested->submit(make_request(id, 2)));
  EXPECT_FALSE(tested->submit(make_request(2000, 2, {.fork_of = 3})));
  EXPECT_TRUE(tested->submit(make_request(2001, 2, {.fork_of = 2}))) << "1,024 came after it";
}

TEST_F(admission, an_answer_that_wants_its_prompts_log_probabilities_waits_for_nobody) {
  submit(make_request(1, 10));
  submit(make_request(2, 10, {.prompt_logprobs = 1, .fork_of = 1}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x10 2x10");
}

TEST_F(admission, answers_that_wait_for_a_prompt_leave_the_places_to_others) {
  set_up({.max_num_seqs = 2, .max_num_batched_tokens = 8});
  submit(make_request(1, 12));
  dispatch_and_complete();
  submit(make_request(2, 12, {.fork_of = 1}));
  submit(make_request(3, 2));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x4 3x2");
}

TEST_F(admission, an_answer_that_waits_for_a_prompt_hides_no_better_request_behind_it) {
  set_up({.max_num_seqs = 2, .max_num_batched_tokens = 5, .policy = scheduling_policy::priority});
  submit(make_request(1, 2, {.priority = 0}));
  dispatch_and_complete();
  submit(make_request(2, 6, {.priority = -5}));
  submit(make_request(3, 6, {.priority = -5, .fork_of = 2}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x4");
  submit(make_request(4, 2, {.priority = -4}));
  dispatch_and_complete();
  EXPECT_EQ(tested->describe(1)->preemptions, 1);
}

TEST_F(admission, a_watermark_is_rounded_up) {
  set_up({.block_size = 1, .num_blocks = 20, .watermark = 0.21});
  submit(make_request(1, 13, {.max_tokens = 2}));
  submit(make_request(2, 3, {.max_tokens = 2}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x13") << "5 have to stay free, not 4";
}

TEST_F(admission, no_more_are_preempted_for_a_better_request_than_it_needs_beside_the_watermark) {
  for (const double watermark : {0.0, 0.25}) {
    set_up(
        {.block_size = 1, .num_blocks = 12, .policy = scheduling_policy::priority, .watermark = watermark});
    submit(make_request(1, 3, {.max_tokens = 3, .priority = 8}));
    submit(make_request(2, 3, {.max_tokens = 3, .priority = 9}));
    dispatch_and_complete();
    submit(make_request(3, 8, {.max_tokens = 1, .priority = 1}));
    dispatch_and_complete();
    EXPECT_EQ(tested->counts().preemptions, watermark > 0.0 ? 2U : 1U);
  }
}

}  // namespace
}  // namespace troupe
