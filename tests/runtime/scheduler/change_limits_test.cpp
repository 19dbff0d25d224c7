// New limits for a scheduler that is at work.
#include <algorithm>
#include <map>
#include <random>

#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

using change_limits_test = scheduler_test;

TEST_F(change_limits_test, fewer_sequences_let_those_that_run_go_on_and_admit_nobody_more) {
  scheduler_limits limits{.max_num_seqs = 4};
  set_up(limits);
  for (request_id id = 1; id <= 6; ++id) submit(make_request(id, 3, {.max_tokens = id <= 3 ? 3 : 6}));
  step();
  ASSERT_EQ(tested->counts().running, 4);
  limits.max_num_seqs = 2;
  tested->change_limits(limits);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x1 3x1 4x1");
  EXPECT_EQ(tested->counts().running, 4);
  step();  // 1, 2 and 3 end
  EXPECT_EQ(tested->counts().running, 1);
  step();
  EXPECT_EQ(tested->counts().running, 2);
  EXPECT_EQ(tested->counts().waiting, 1);
}

TEST_F(change_limits_test, the_next_step_keeps_to_the_new_budget) {
  scheduler_limits limits{.max_num_batched_tokens = 64};
  set_up(limits);
  submit(make_request(1, 200));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x64");
  limits.max_num_batched_tokens = 16;
  tested->change_limits(limits);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x16");
  limits.max_num_batched_tokens = 64;
  limits.long_prefill_token_threshold = 20;
  tested->change_limits(limits);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x20");
}

TEST_F(change_limits_test, more_decodes_than_a_step_has_tokens_take_turns) {
  scheduler_limits limits{.max_num_batched_tokens = 64};
  set_up(limits);
  for (request_id id = 1; id <= 5; ++id) submit(make_request(id, 3, {.max_tokens = id == 3 ? 4 : 20}));
  step();
  limits.max_num_batched_tokens = 2;
  tested->change_limits(limits);
  for (const char* expected : {"1x1 2x1", "3x1 4x1", "5x1 1x1", "2x1 3x1", "4x1 5x1", "1x1 2x1", "3x1 4x1"})
    EXPECT_EQ(shape(dispatch_and_complete()), expected);
  EXPECT_EQ(shape(dispatch_and_complete()), "5x1 1x1") << "the third has ended";
  limits.max_num_batched_tokens = 64;
  tested->change_limits(limits);
  EXPECT_EQ(shape(dispatch_and_complete()), "2x1 4x1 5x1 1x1");
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x1 4x1 5x1");
}

TEST_F(change_limits_test, a_prompt_under_way_takes_turns_with_decodes_that_fill_a_step) {
  scheduler_limits limits{.max_num_batched_tokens = 20};
  set_up(limits);
  submit(make_request(1, 3, {.max_tokens = 20}));
  submit(make_request(2, 3, {.max_tokens = 20}));
  submit(make_request(3, 17, {.max_tokens = 20}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x3 2x3 3x14");
  limits.max_num_batched_tokens = 2;
  tested->change_limits(limits);
  for (const char* expected : {"1x1 2x1", "3x1 1x1", "2x1 3x1", "1x1 2x1", "3x1 1x1"})
    EXPECT_EQ(shape(dispatch_and_complete()), expected);
}

TEST_F(change_limits_test, the_queue_takes_as_many_as_it_now_may) {
  scheduler_limits limits{.max_num_seqs = 1, .max_num_queued_requests = 1};
  set_up(limits);
  submit(make_request(1, 3));
  submit(make_request(2, 3));
  EXPECT_FALSE(tested->submit(make_request(3, 3)));
  limits.max_num_queued_requests = 2;
  tested->change_limits(limits);
  submit(make_request(3, 3));
  limits.max_num_queued_requests = 0;
  tested->change_limits(limits);
  EXPECT_FALSE(tested->submit(make_request(4, 3)));
  EXPECT_EQ(tested->counts().waiting, 3) << "who waits already stays";
}

// A share of what there was would leave nobody any room.
TEST_F(change_limits_test, the_share_that_stays_free_is_of_the_blocks_that_there_are_now) {
  set_up({.max_num_seqs = 4, .num_blocks = 1000, .watermark = 0.01});
  tested->change_storage(20);
  submit(make_request(1, 3));
  step();
  submit(make_request(2, 3));
  const auto demand = tested->plan();
  ASSERT_TRUE(demand);
  const auto second = std::ranges::find(demand->sequences, 2U, &sequence_demand::id);
  ASSERT_NE(second, demand->sequences.end());
  EXPECT_EQ(second->keep_free, 1);
}

TEST_F(change_limits_test, another_policy_orders_those_that_wait_already) {
  scheduler_limits limits{.max_num_seqs = 1};
  set_up(limits);
  submit(make_request(1, 3, {.max_tokens = 2}));
  step();
  for (request_id id = 2; id <= 4; ++id)
    submit(make_request(id, 3, {.max_tokens = 1, .priority = -static_cast<std::int32_t>(id)}));
  limits.policy = scheduling_policy::priority;
  limits.max_num_seqs = 2;
  tested->change_limits(limits);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 4x3");
  EXPECT_EQ(shape(dispatch_and_complete()), "3x3 2x3");
}

// The step after next is planned when the cache hears of it: whoever comes back by then must get blocks anew.
TEST_F(change_limits_test, who_is_preempted_for_a_place_that_is_none_yet_keeps_no_blocks) {
  scheduler_limits limits{.max_num_seqs = 3,
                          .max_steps_in_flight = 2,
                          .policy = scheduling_policy::priority,
                          .enable_prefix_caching = false};
  set_up(limits);
  submit(make_request(1, 40, {.max_tokens = 50, .priority = 5}));
  for (request_id id = 2; id <= 3; ++id) submit(make_request(id, 3, {.max_tokens = 2}));
  step();
  const auto last = dispatch();  // of 2 and 3
  ASSERT_EQ(shape(last), "2x1 3x1 1x1");
  limits.max_num_seqs = 2;
  tested->change_limits(limits);
  submit(make_request(4, 3));
  EXPECT_EQ(dispatch(), nullptr) << "1 has made place, and there is none yet";
  EXPECT_EQ(tested->counts().running, 2);
  complete(*last);
  const auto next = dispatch();
  ASSERT_EQ(shape(next), "4x3 1x42");
  for (const std::int32_t slot : next->slots)
    ASSERT_GT(cache->references(slot / limits.block_size), 0) << "a step that runs writes it";
  EXPECT_EQ(cache->check(), "");
}

TEST_F(change_limits_test, what_the_tables_are_sized_by_stays) {
  scheduler_limits limits{.max_num_seqs = 8, .max_model_len = 100, .block_size = 16, .num_blocks = 50};
  scheduler_limits wanted{.max_num_seqs = 4, .max_model_len = 1, .block_size = 1, .num_blocks = 1};
  adopt_limits(limits, wanted);
  EXPECT_EQ(limits.max_num_seqs, 4);
  EXPECT_EQ(limits.max_model_len, 100);
  EXPECT_EQ(limits.block_size, 16);
  EXPECT_EQ(limits.num_blocks, 50);
}

// At any moment: between steps, while a plan is open, while steps are in flight, with preempted ones.
TEST_F(change_limits_test, at_any_moment_everybody_gets_all_their_tokens_once) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto draw = [&](int most) {
      return static_cast<std::int32_t>(random() % static_cast<unsigned>(most));
    };
    const auto draw_limits = [&] {
      return scheduler_limits{.max_num_seqs = 1 + draw(6),
                              .max_num_batched_tokens = 4 + draw(40),
                              .max_num_queued_requests = 1000,
                              .max_steps_in_flight = 2,
                              .policy = static_cast<scheduling_policy>(draw(4)),
                              .priority_patience = draw(5),
                              .long_prefill_token_threshold = draw(8),
                              .max_num_partial_prefills = 1 + draw(3),
                              .watermark = draw(10) / 100.0};
    };
    scheduler_limits at_start = draw_limits();
    at_start.block_size = 4;
    at_start.num_blocks = 24;
    at_start.max_model_len = 90;
    set_up(at_start);
    std::map<request_id, std::int32_t> left;
    const auto take = [&](const token_batch& events) {
      for (const token_event& event : events) {
        left[event.id] -= static_cast<std::int32_t>(event.tokens.size());
        if (event.end) {
          ASSERT_EQ(left[event.id], 0) << event.id;
          left.erase(event.id);
        }
      }
    };
    request_id next = 1;
    std::vector<step_batch_ptr> flying;
    for (int round = 0; round < 120 || !left.empty(); ++round) {
      ASSERT_LT(round, 20'000) << left.size() << " wait for ever";
      if (round < 120 && draw(3) == 0) {
        const std::int32_t tokens = 1 + draw(12);
        auto request = make_request(next, static_cast<std::size_t>(1 + draw(50)),
                                    {.max_tokens = tokens, .ignore_eos = true, .priority = draw(3)});
        request.tenant = std::string(1, static_cast<char>('a' + draw(3)));
        submit(std::move(request));
        left[next++] = tokens;
      }
      const bool is_changed_now = draw(4) == 0;
      auto demand = tested->plan();
      if (is_changed_now) tested->change_limits(draw_limits());
      while (demand) {
        const resolved_step resolved = tested->resolve(cache->reserve_step(*demand));
        give_back(resolved.releases);
        if (resolved.batch) flying.push_back(resolved.batch);
        demand = resolved.demand;
      }
      if (!flying.empty() && (flying.size() > 1 || draw(2) == 0)) {
        const step_batch_ptr oldest = flying.front();
        flying.erase(flying.begin());
        take(complete(*oldest));
      }
    }
    EXPECT_EQ(cache->free_blocks(), at_start.num_blocks);
  }
}

}  // namespace
}  // namespace troupe
