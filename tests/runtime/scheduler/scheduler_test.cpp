#include "runtime/scheduler/scheduler.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

using std::chrono::seconds;

TEST_F(scheduler_test, decodes_and_prefill_chunks_share_a_batch_within_the_token_budget) {
  set_up({.max_num_batched_tokens = 10});
  submit(make_request(1, 3));
  auto batch = dispatch();
  EXPECT_EQ(shape(batch), "1x3");
  complete(*batch);
  submit(make_request(2, 20));
  submit(make_request(3, 2));
  for (const char* expected : {"1x1 2x9", "1x1 2x9", "1x1 2x2 3x2", "1x1 2x1 3x1"}) {
    batch = dispatch();
    EXPECT_EQ(shape(batch), expected);
    complete(*batch);
  }
}

TEST_F(scheduler_test, a_long_prompt_takes_as_many_chunks_as_the_budget_asks_and_decodes_run_in_each) {
  set_up({.max_num_batched_tokens = 513, .max_model_len = 40000, .num_blocks = 4000});
  submit(make_request(1, 1, {.max_tokens = 1000}));
  step();
  submit(make_request(2, 32768));
  int chunks = 0;
  for (bool sampled = false; !sampled; ++chunks) {
    const auto batch = dispatch();
    ASSERT_EQ(shape(batch), "1x1 2x512");
    sampled = batch->samples.size() == 2;
    complete(*batch);
  }
  EXPECT_EQ(chunks, 64);
}

TEST_F(scheduler_test, only_the_last_chunk_is_sampled) {
  set_up({.max_num_batched_tokens = 4});
  submit(make_request(1, 6));
  EXPECT_TRUE(step().empty());
  const auto batch = dispatch();
  ASSERT_EQ(batch->samples.size(), 1U);
  EXPECT_EQ(batch->samples[0].position, 6);
  EXPECT_EQ(batch->samples[0].num_generated, 0);
  EXPECT_EQ(complete(*batch).size(), 1U);
}

TEST_F(scheduler_test, no_more_sequences_run_than_allowed_and_they_are_admitted_in_order) {
  set_up({.max_num_seqs = 2});
  for (request_id id = 1; id <= 4; ++id) submit(make_request(id, 2, {.max_tokens = id == 1 ? 1 : 5}));
  auto batch = dispatch();
  EXPECT_EQ(shape(batch), "1x2 2x2");
  EXPECT_EQ(tested->describe(3)->reason, "waiting: 2 sequences are running (max_num_seqs)");
  EXPECT_EQ(tested->describe(4)->reason, "waiting: 1 ahead");
  complete(*batch);
  EXPECT_EQ(shape(dispatch()), "2x1 3x2");
}

TEST_F(scheduler_test, admission_stops_at_the_first_waiting_request_that_does_not_fit) {
  set_up({.block_size = 4, .num_blocks = 10});
  submit(make_request(1, 28, {.max_tokens = 2}));
  submit(make_request(2, 16, {.max_tokens = 2}));
  submit(make_request(3, 1, {.max_tokens = 2}));
  auto batch = dispatch();
  EXPECT_EQ(shape(batch), "1x28");
  EXPECT_EQ(tested->describe(1)->reason, "running");
  EXPECT_EQ(tested->describe(2)->reason, "waiting: no blocks (needs 4, free 3)");
  EXPECT_EQ(tested->describe(3)->reason, "waiting: 1 ahead");
  complete(*batch);
  step();
  EXPECT_EQ(shape(dispatch()), "2x16 3x1");
}

TEST_F(scheduler_test,
       the_newest_running_request_is_preempted_and_comes_back_first_without_telling_a_token_twice) {
  set_up({.block_size = 2, .num_blocks = 6});
  submit(make_request(1, 2, {.max_tokens = 8}));
  submit(make_request(2, 2, {.max_tokens = 8}));
  submit(make_request(3, 2, {.max_tokens = 8}));
  submit(make_request(4, 2, {.max_tokens = 8}));
  step();  // 1 2 3 4 take a block each...
  EXPECT_EQ(tested->counts().running, 4);
  auto batch = dispatch();  // ...and want a second one: 6 blocks hold three of them
  EXPECT_EQ(shape(batch), "1x1 2x1 3x1");
  EXPECT_EQ(tested->counts().preemptions, 1U);
  EXPECT_EQ(tested->describe(4)->reason.substr(0, 7), "waiting");
  complete(*batch);
  submit(make_request(5, 1, {.max_tokens = 1}));
  std::map<request_id, int> tokens{{1, 2}, {2, 2}, {3, 2}, {4, 1}, {5, 0}};
  std::vector<request_id> ends;
  std::map<request_id, std::vector<std::int32_t>> preemptions;
  while (tested->counts().running + tested->counts().waiting > 0) {
    for (const auto& event : step()) {
      tokens[event.id] += static_cast<int>(event.tokens.size());
      if (event.details && event.details->preemptions > 0)
        preemptions[event.id].push_back(event.details->preemptions);
      if (event.end) ends.push_back(event.id);
    }
  }
  EXPECT_EQ(tokens, (std::map<request_id, int>{{1, 8}, {2, 8}, {3, 8}, {4, 8}, {5, 1}}));
  EXPECT_EQ(ends.front(), 1U);
  EXPECT_EQ(preemptions[4].front(), 1) << "told once it samples again";
  std::uint64_t told = 0;
  for (const auto& [id, counts] : preemptions) told += static_cast<std::uint64_t>(counts.back());
  EXPECT_EQ(told, tested->counts().preemptions);
  EXPECT_EQ(cache->free_blocks(), 6);
}

TEST_F(scheduler_test, a_preempted_request_computes_prompt_and_output_again_and_samples_the_next_position) {
  set_up({.block_size = 1, .num_blocks = 7});
  submit(make_request(1, 2, {.max_tokens = 4}));
  submit(make_request(2, 2, {.max_tokens = 4}));
  step();
  step();                               // 3 blocks each
  EXPECT_EQ(shape(dispatch()), "1x1");  // a fourth for each is one too many
  EXPECT_EQ(tested->describe(2)->reason, "waiting: for the next step");
  tested->end(1, finish_reason::abort);
  cache->release(1, 3);
  cache->commit_step(3);
  commit({3, {{1, 9}}, {}, {}, {}});
  const auto batch = dispatch();
  EXPECT_EQ(shape(batch), "2x4");
  EXPECT_EQ(batch->tokens, (std::vector<token_id>{7, 7, 9, 9}));
  EXPECT_EQ(batch->samples[0].position, 4);
  EXPECT_EQ(batch->samples[0].num_generated, 2);
}

TEST_F(scheduler_test, a_preempted_request_finds_what_it_had_computed_when_it_comes_back) {
  set_up({.block_size = 4, .num_blocks = 5, .enable_prefix_caching = true});
  submit(make_request(1, 8, {.max_tokens = 3}));
  engine_request other = make_request(2, 8, {.max_tokens = 3});
  other.prompt.assign(8, 5);
  submit(other);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x8 2x8");
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1");
  EXPECT_EQ(tested->counts().preemptions, 1U);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1");
  EXPECT_EQ(shape(dispatch_and_complete()), "2x1");
}

TEST_F(scheduler_test, a_decode_asks_the_kv_cache_only_when_its_blocks_are_full) {
  set_up({.block_size = 4});
  submit(make_request(1, 3));
  dispatch_and_complete();
  std::string asked;
  for (int i = 0; i < 9; ++i) {
    const auto demand = tested->plan();
    asked += std::to_string(demand->sequences.size());
    complete(*tested->resolve(cache->reserve_step(*demand)).batch);
  }
  EXPECT_EQ(asked, "010001000");
}

TEST_F(scheduler_test, preempted_requests_go_to_the_front_in_their_old_order) {
  set_up({.block_size = 1, .num_blocks = 12});
  submit(make_request(1, 2, {.max_tokens = 10}));
  submit(make_request(2, 2, {.max_tokens = 10}));
  submit(make_request(3, 2, {.max_tokens = 10}));
  while (tested->counts().preemptions == 0) step();
  submit(make_request(4, 1, {.max_tokens = 1}));
  EXPECT_EQ(tested->describe(4)->reason, "waiting: 1 ahead");
  while (tested->counts().preemptions == 1) step();
  EXPECT_EQ(tested->describe(3)->reason, "waiting: 1 ahead");
  EXPECT_EQ(tested->describe(4)->reason, "waiting: 2 ahead");
}

TEST_F(scheduler_test, one_step_preempts_as_many_as_it_must) {
  set_up({.block_size = 4, .num_blocks = 4});
  for (request_id id = 1; id <= 4; ++id) submit(make_request(id, 4, {.max_tokens = 8}));
  step();
  EXPECT_EQ(shape(dispatch()), "1x1 2x1");
  EXPECT_EQ(tested->counts().preemptions, 2U);
}

TEST_F(scheduler_test, prompt_log_probabilities_are_collected_over_chunks_and_told_once) {
  set_up({.max_num_batched_tokens = 4});
  submit(make_request(1, 10, {.prompt_logprobs = 2}));
  auto batch = dispatch();
  ASSERT_EQ(batch->prompt_logprobs.size(), 4U);
  EXPECT_EQ(batch->prompt_logprobs[0].top, 2);
  EXPECT_TRUE(complete(*batch).empty());
  EXPECT_TRUE(step().empty());
  batch = dispatch();
  EXPECT_EQ(batch->prompt_logprobs.size(), 1U);
  EXPECT_EQ(complete(*batch)[0].details->prompt_logprobs.size(), 9U);
  EXPECT_FALSE(step()[0].details);
}

TEST_F(scheduler_test, histories_are_carried_only_where_a_penalty_reads_them) {
  submit(make_request(1, 3, {.frequency_penalty = 0.5F}));
  submit(make_request(2, 3));
  step(5);
  const auto batch = dispatch();
  EXPECT_EQ(batch->samples[0].history, (std::vector<token_id>{7, 7, 7, 5}));
  EXPECT_EQ(batch->samples[0].prompt_length, 3);
  EXPECT_TRUE(batch->samples[1].history.empty());
}

TEST_F(scheduler_test, end_tokens_stop_unless_ignored_or_too_early) {
  submit(make_request(1, 2));
  submit(make_request(2, 2, {.max_tokens = 3, .ignore_eos = true}));
  submit(make_request(3, 2, {.min_tokens = 1}));
  auto events = step(0);
  ASSERT_TRUE(events[0].end);
  EXPECT_EQ(events[0].end->reason, finish_reason::stop);
  EXPECT_FALSE(events[0].end->stop_token);
  EXPECT_EQ(events[0].tokens, token_list{0});
  EXPECT_EQ(events[0].end->tokens.completion_tokens, 1);
  EXPECT_FALSE(events[1].end);
  EXPECT_FALSE(events[2].end);
  events = step(0);
  EXPECT_FALSE(events[0].end);
  EXPECT_TRUE(events[1].end);
  EXPECT_EQ(step(0)[0].end->reason, finish_reason::length);
}

TEST_F(scheduler_test, a_stop_token_id_ends_with_its_name_even_where_end_tokens_are_ignored) {
  submit(make_request(1, 2, {.ignore_eos = true, .stop_token_ids = {4, 0}}));
  EXPECT_FALSE(step(5)[0].end);
  const auto events = step(0);
  ASSERT_TRUE(events[0].end);
  EXPECT_EQ(events[0].end->reason, finish_reason::stop);
  EXPECT_EQ(events[0].end->stop_token, 0);
}

TEST_F(scheduler_test, without_max_tokens_a_request_runs_to_the_end_of_the_context) {
  set_up({.max_model_len = 12});
  submit(make_request(1, 5, {.max_tokens = {}}));
  std::size_t tokens = 0;
  for (token_batch events; events.empty() || !events[0].end; tokens += events[0].tokens.size())
    events = step();
  EXPECT_EQ(tokens, 7U);
}

TEST_F(scheduler_test, refuses_at_once_what_can_never_fit_and_says_the_numbers) {
  set_up({.max_model_len = 100, .block_size = 4, .num_blocks = 10});
  std::string_view field = "max_tokens";
  const auto message = [&](std::size_t prompt, std::optional<std::int32_t> max_tokens) {
    const auto accepted =
        tested->submit(make_request(99, prompt, {.max_tokens = max_tokens, .max_tokens_field = field}));
    if (accepted) {
      tested->end(99, finish_reason::abort);
      return std::string("accepted");
    }
    const bool is_possible = prompt > 0 && max_tokens != 0;  // with a longer context
    EXPECT_EQ(accepted.error().code,
              is_possible ? error_code::context_length_exceeded : error_code::invalid_argument);
    return accepted.error().param + ": " + accepted.error().message;
  };
  EXPECT_EQ(message(0, 1), "prompt: the prompt must hold at least one token");
  EXPECT_EQ(
      message(100, {}),
      "prompt: This model's maximum context length is 100 tokens, one of them generated at least. However, "
      "the prompt alone has 100");
  EXPECT_EQ(message(41, {}), "prompt: the prompt has 41 tokens, but the KV cache holds 40 (10 blocks of 4)");
  EXPECT_EQ(message(10, 91),
            "max_tokens: This model's maximum context length is 100 tokens. However, max_tokens is 91 and "
            "the prompt "
            "has 10, which leaves 90");
  EXPECT_EQ(message(10, std::numeric_limits<std::int32_t>::max()).substr(0, 11), "max_tokens:");
  EXPECT_EQ(
      message(10, 32),
      "max_tokens: max_tokens is too large: 32. The KV cache holds 40 tokens (10 blocks of 4) and the prompt "
      "has 10, which leaves 31");
  EXPECT_EQ(message(10, 31), "accepted");
  EXPECT_EQ(message(40, 1), "accepted");
  EXPECT_EQ(message(40, {}), "accepted");
  EXPECT_EQ(message(10, 0), "max_tokens: max_tokens must be at least 1, got 0");
  field = "max_completion_tokens";
  for (const std::int32_t refused : {91, 32, 0}) {
    const std::string why = message(10, refused);
    EXPECT_TRUE(why.starts_with("max_completion_tokens: "));
    EXPECT_NE(why.find(" max_completion_tokens "), std::string::npos) << why;
  }
}

TEST_F(scheduler_test, a_lone_request_runs_to_its_max_tokens_in_a_pool_that_it_fills_to_the_last_slot) {
  set_up({.max_model_len = 100, .block_size = 4, .num_blocks = 10});
  submit(make_request(1, 10, {.max_tokens = 31}));
  std::size_t tokens = 0;
  for (token_batch events; events.empty() || !events[0].end; tokens += events[0].tokens.size())
    events = step();
  EXPECT_EQ(tokens, 31U);
  EXPECT_EQ(tested->counts().preemptions, 0U);
}

TEST_F(scheduler_test, refuses_with_resource_exhausted_when_the_queue_is_full) {
  set_up({.max_num_seqs = 2, .max_num_queued_requests = 1});
  for (request_id id = 1; id <= 3; ++id) submit(make_request(id, 2));
  const auto accepted = tested->submit(make_request(4, 2));
  ASSERT_FALSE(accepted) << "two come to run, and one may wait beside them";
  EXPECT_EQ(accepted.error().code, error_code::resource_exhausted);
  step();
  EXPECT_EQ(tested->counts().running, 2);
  EXPECT_FALSE(tested->submit(make_request(4, 2))) << "they run, and one waits";
  tested->end(1, finish_reason::abort);
  submit(make_request(4, 2));
  EXPECT_FALSE(tested->submit(make_request(5, 2)));
}

TEST_F(scheduler_test, lets_as_many_wait_as_may_whoever_runs) {
  scheduler_limits limits{.max_num_seqs = 3, .max_num_queued_requests = 2};
  set_up(limits);
  for (request_id id = 1; id <= 3; ++id) submit(make_request(id, 2));
  step();
  limits.max_num_seqs = 1;
  tested->change_limits(limits);
  for (request_id id = 4; id <= 5; ++id) submit(make_request(id, 2));
  EXPECT_FALSE(tested->submit(make_request(6, 2))) << "more run than may: that is no room to wait in";
}

TEST_F(scheduler_test, refuses_a_name_that_is_in_use_until_it_ends) {
  submit(make_request(1, 2));
  EXPECT_FALSE(tested->submit(make_request(1, 2)));
  tested->end(1, finish_reason::abort);
  submit(make_request(1, 2));
}

TEST_F(scheduler_test, a_request_ended_while_its_step_runs_loses_that_token_and_keeps_its_blocks_until_then) {
  submit(make_request(1, 2));
  submit(make_request(2, 2));
  step();
  const auto batch = dispatch();
  const std::int32_t free = cache->free_blocks();
  const auto output = tested->end(1, finish_reason::abort);
  ASSERT_EQ(output.events.size(), 1U);
  EXPECT_EQ(output.events[0].end->tokens.completion_tokens, 1);
  ASSERT_EQ(output.releases.size(), 1U);
  EXPECT_EQ(output.releases[0].last_step, batch->step);
  cache->release(1, output.releases[0].last_step);
  EXPECT_EQ(cache->free_blocks(), free);
  const auto events = complete(*batch);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].id, 2U);
  EXPECT_EQ(cache->free_blocks(), free + 1);
  EXPECT_EQ(tested->counts().generation_tokens, 3U);
}

TEST_F(scheduler_test, stopped_requests_leave_without_an_event) {
  submit(make_request(1, 2));
  step();
  const auto output = tested->stopped(1);
  EXPECT_TRUE(output.events.empty());
  EXPECT_EQ(output.releases.size(), 1U);
  EXPECT_FALSE(tested->describe(1));
  EXPECT_EQ(dispatch(), nullptr);
}

TEST_F(scheduler_test, deadlines_end_requests_in_every_state) {
  set_up({.max_num_seqs = 1});
  const steady_time start{};
  submit(make_request(1, 2, {.deadline = start + seconds(2)}));
  submit(make_request(2, 2, {.deadline = start + seconds(1)}));
  submit(make_request(3, 2));
  dispatch();
  EXPECT_EQ(tested->next_deadline(), start + seconds(1));
  EXPECT_TRUE(tested->expire(start).events.empty());
  auto output = tested->expire(start + seconds(1));
  ASSERT_EQ(output.events.size(), 1U);
  EXPECT_EQ(output.events[0].id, 2U);
  EXPECT_EQ(output.events[0].end->reason, finish_reason::timeout);
  output = tested->expire(start + seconds(5));
  ASSERT_EQ(output.events.size(), 1U);
  EXPECT_EQ(output.events[0].id, 1U);
  EXPECT_FALSE(tested->next_deadline());
  EXPECT_EQ(tested->counts().waiting, 1);
}

TEST_F(scheduler_test, a_reservation_or_result_of_another_step_is_ignored) {
  submit(make_request(1, 2));
  EXPECT_FALSE(tested->resolve({}).batch);
  const auto demand = tested->plan();
  EXPECT_FALSE(tested->plan());
  auto reservation = cache->reserve_step(*demand);
  reservation.step += 1;
  EXPECT_FALSE(tested->resolve(reservation).batch);
  reservation.step -= 1;
  EXPECT_TRUE(tested->resolve(reservation).batch);
  EXPECT_EQ(tested->steps_in_flight(), 1);
}

TEST_F(scheduler_test, when_all_that_was_planned_has_ended_the_room_goes_to_the_next) {
  set_up({.block_size = 4, .num_blocks = 2});
  submit(make_request(1, 6, {.max_tokens = 2}));
  const auto demand = tested->plan();
  const auto reservation = cache->reserve_step(*demand);
  const auto ended = tested->end(1, finish_reason::abort);
  submit(make_request(2, 6, {.max_tokens = 2}));
  cache->release(1, ended.releases[0].last_step);
  const auto resolved = tested->resolve(reservation);
  EXPECT_FALSE(resolved.batch);
  ASSERT_TRUE(resolved.demand);
  EXPECT_TRUE(tested->resolve(cache->reserve_step(*resolved.demand)).batch);
}

TEST_F(scheduler_test, counts_prompt_and_generated_tokens_once) {
  set_up({.block_size = 1, .num_blocks = 7});
  submit(make_request(1, 2, {.max_tokens = 4}));
  submit(make_request(2, 2, {.max_tokens = 4}));
  while (tested->counts().running + tested->counts().waiting > 0) step();
  EXPECT_GT(tested->counts().preemptions, 0U);
  EXPECT_EQ(tested->counts().prompt_tokens, 4U);
  EXPECT_EQ(tested->counts().generation_tokens, 8U);
}

}  // namespace
}  // namespace troupe
