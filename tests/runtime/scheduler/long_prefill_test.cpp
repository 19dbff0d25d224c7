// What long prompts leave to those who wait.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

using long_prefill = scheduler_test;

TEST_F(long_prefill, leaves_the_step_to_who_waits_but_for_its_share) {
  set_up({.max_num_batched_tokens = 20, .long_prefill_share = 0.25});
  submit(make_request(1, 200));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x20") << "alone it has all of it";
  submit(make_request(2, 15));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x5 2x15");
  submit(make_request(3, 6));
  EXPECT_EQ(shape(dispatch_and_complete()), "2x1 1x13 3x6") << "what nobody wants goes back to it";
}

TEST_F(long_prefill, keeps_the_whole_step_where_that_is_its_share) {
  set_up({.max_num_batched_tokens = 20, .long_prefill_share = 1.0});
  submit(make_request(1, 150));
  dispatch_and_complete();
  submit(make_request(2, 120));
  submit(make_request(3, 6));
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(shape(dispatch_and_complete()), "1x20");
    EXPECT_EQ(tested->describe(2)->reason, "waiting: the steps are full (max_num_batched_tokens)");
  }
  EXPECT_EQ(shape(dispatch_and_complete()), "1x10 2x10") << "first come, first served";
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x19");
}

TEST_F(long_prefill, ends_before_a_longer_one_though_it_is_cut) {
  set_up({.max_num_batched_tokens = 20});
  submit(make_request(1, 300));
  dispatch_and_complete();
  submit(make_request(2, 34));
  submit(make_request(3, 40));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x5 2x15");
  EXPECT_EQ(shape(dispatch_and_complete()), "2x15 1x5") << "nothing is left for the third";
  EXPECT_EQ(shape(dispatch_and_complete()), "2x4 1x5 3x11");
  EXPECT_EQ(shape(dispatch_and_complete()), "2x1 3x15 1x4") << "a quarter of what the decodes leave";
  EXPECT_EQ(shape(dispatch_and_complete()), "2x1 3x14 1x5");
  EXPECT_EQ(shape(dispatch_and_complete()), "2x1 3x1 1x18");
}

TEST_F(long_prefill, goes_on_however_small_its_share) {
  set_up({.max_num_batched_tokens = 20,
          .long_prefill_token_threshold = 8,
          .max_num_partial_prefills = 2,
          .long_prefill_share = 0.001});
  submit(make_request(1, 120));
  submit(make_request(2, 140));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x8 2x8");
  submit(make_request(3, 8));
  submit(make_request(4, 8));
  submit(make_request(5, 2));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x1 3x8 4x8 5x2");
}

TEST_F(long_prefill, of_several_each_has_a_part_of_their_share_and_what_the_others_leave_of_it) {
  for (const double share : {0.5, 1.0}) {
    set_up({.max_num_batched_tokens = 20, .max_num_partial_prefills = 2, .long_prefill_share = share});
    submit(make_request(1, 100));
    submit(make_request(2, 300));
    for (int i = 0; i < 2; ++i) dispatch_and_complete();
    EXPECT_EQ(tested->describe(2)->phase, request_phase::waiting) << "rows are for brief ones, or all taken";
  }
  set_up({.max_num_batched_tokens = 20,
          .long_prefill_token_threshold = 12,
          .max_num_partial_prefills = 2,
          .long_prefill_share = 0.5});
  submit(make_request(1, 120));
  submit(make_request(2, 300));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x12 2x8");
  submit(make_request(3, 10));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x5 2x5 3x10");
}

TEST_F(long_prefill, makes_no_room_for_another_that_is_long) {
  set_up({.max_num_batched_tokens = 20, .max_num_partial_prefills = 2});
  submit(make_request(1, 120));
  dispatch_and_complete();
  submit(make_request(2, 170));
  submit(make_request(3, 4));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x16 3x4");
  EXPECT_EQ(tested->describe(2)->reason, "waiting: the steps are full (max_num_batched_tokens)");
}

TEST_F(long_prefill, is_passed_by_brief_ones_while_it_waits_for_another) {
  set_up({.max_num_batched_tokens = 20});
  submit(make_request(1, 170));
  dispatch_and_complete();
  submit(make_request(2, 170));
  submit(make_request(3, 6));
  submit(make_request(4, 140));
  submit(make_request(5, 3));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x11 3x6 5x3");
  EXPECT_EQ(tested->describe(2)->reason, "waiting: other prompts are computed (max_num_partial_prefills)");
  EXPECT_EQ(tested->describe(4)->reason, "waiting: 1 ahead");
  for (int steps = 0; tested->describe(2)->phase == request_phase::waiting; ++steps) {
    ASSERT_LT(steps, 12);
    dispatch_and_complete();
  }
  EXPECT_GE(tested->describe(1)->computed_tokens, 170);
  EXPECT_EQ(tested->describe(4)->phase, request_phase::waiting);
}

TEST_F(long_prefill, keeps_no_brief_one_waiting_whose_chunks_are_bounded) {
  set_up({.max_num_batched_tokens = 40, .long_prefill_token_threshold = 8});
  submit(make_request(1, 300));
  dispatch_and_complete();
  submit(make_request(2, 12));
  submit(make_request(3, 12));
  submit(make_request(4, 3));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x8 2x8 4x3") << "one brief one is cut at a time";
  EXPECT_EQ(shape(dispatch_and_complete()), "4x1 2x4 1x8 3x8");
}

TEST_F(long_prefill, a_better_one_before_it_takes_the_blocks_of_worse_ones) {
  set_up({.max_num_batched_tokens = 20,
          .block_size = 1,
          .num_blocks = 240,
          .policy = scheduling_policy::priority});
  submit(make_request(2, 40, {.max_tokens = 100, .priority = 9}));
  for (int steps = 0; steps < 3; ++steps) dispatch_and_complete();
  submit(make_request(1, 190, {.max_tokens = 2, .priority = 5}));
  dispatch_and_complete();
  submit(make_request(3, 45, {.max_tokens = 2, .priority = 0}));
  submit(make_request(4, 190, {.max_tokens = 2, .priority = 0}));
  for (int steps = 0; steps < 2; ++steps) dispatch_and_complete();
  EXPECT_EQ(tested->describe(2)->phase, request_phase::waiting);
  EXPECT_EQ(tested->describe(3)->phase, request_phase::running) << tested->describe(3)->reason;
}

TEST_F(long_prefill, that_is_passed_keeps_a_place) {
  set_up({.max_num_seqs = 3, .max_num_batched_tokens = 20});
  submit(make_request(1, 120));
  dispatch_and_complete();
  submit(make_request(2, 120));
  submit(make_request(3, 5));
  submit(make_request(4, 5));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x15 3x5") << "the third place is the second's";
  for (int steps = 0; steps < 10; ++steps) dispatch_and_complete();
  EXPECT_EQ(tested->describe(2)->phase, request_phase::running);
  EXPECT_EQ(tested->describe(4)->phase, request_phase::waiting);
}

TEST_F(long_prefill, that_is_passed_keeps_blocks) {
  set_up({.max_num_batched_tokens = 20, .block_size = 1, .num_blocks = 260});
  submit(make_request(1, 120, {.max_tokens = 100}));
  dispatch_and_complete();
  submit(make_request(2, 120, {.max_tokens = 10}));
  submit(make_request(3, 15, {.max_tokens = 10}));
  submit(make_request(4, 15, {.max_tokens = 10}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x5 3x15");
  EXPECT_EQ(shape(dispatch_and_complete()), "3x1 1x19");
  EXPECT_EQ(tested->describe(4)->reason, "waiting: 1 ahead")
      << "124 blocks are free, 120 of them for the second";
  EXPECT_EQ(tested->counts().preemptions, 0U);
}

TEST_F(long_prefill, with_a_long_cached_prefix_is_brief) {
  set_up({.max_num_batched_tokens = 20, .block_size = 4, .enable_prefix_caching = true});
  submit(make_request(1, 200, {.max_tokens = 1}));
  while (tested->counts().running + tested->counts().waiting > 0) dispatch_and_complete();
  engine_request different = make_request(2, 300);
  std::ranges::fill(different.prompt, 8);
  submit(std::move(different));
  dispatch_and_complete();
  submit(make_request(3, 210));
  EXPECT_EQ(shape(dispatch_and_complete()), "2x20") << "the KV cache has not been asked yet";
  EXPECT_EQ(shape(dispatch_and_complete()), "2x10 3x10");
}

TEST_F(long_prefill, has_all_of_the_step_where_those_who_wait_find_no_blocks) {
  set_up({.max_num_batched_tokens = 20, .block_size = 1, .num_blocks = 164});
  submit(make_request(1, 160, {.max_tokens = 2}));
  dispatch_and_complete();
  submit(make_request(2, 6, {.max_tokens = 2}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x20");
  EXPECT_EQ(tested->describe(2)->reason, "waiting: no blocks (needs 6, free 4)");
}

TEST_F(long_prefill, has_the_rows_that_a_cached_prefix_saves_another) {
  set_up({.max_num_batched_tokens = 20, .block_size = 4, .enable_prefix_caching = true});
  submit(make_request(1, 12, {.max_tokens = 1}));
  dispatch_and_complete();
  engine_request different = make_request(2, 200);
  std::ranges::fill(different.prompt, 8);
  submit(std::move(different));
  dispatch_and_complete();
  submit(make_request(3, 13));
  EXPECT_EQ(shape(dispatch_and_complete()), "2x19 3x1");
}

TEST_F(long_prefill, of_a_better_priority_makes_no_room_for_worse_ones) {
  for (const std::int32_t priority : {0, 4, 5, 6}) {
    set_up({.max_num_batched_tokens = 20, .policy = scheduling_policy::priority});
    submit(make_request(1, 200, {.priority = 5}));
    dispatch_and_complete();
    submit(make_request(2, 6, {.priority = priority}));
    EXPECT_EQ(shape(dispatch_and_complete()), priority > 5 ? "1x20" : "1x14 2x6");
  }
}

TEST_F(long_prefill, that_waits_is_not_passed_by_worse_ones) {
  for (const std::int32_t priority : {4, 5, 6}) {
    set_up({.max_num_batched_tokens = 20, .policy = scheduling_policy::priority});
    submit(make_request(1, 200, {.priority = 5}));
    dispatch_and_complete();
    submit(make_request(2, 170, {.priority = 5}));
    submit(make_request(3, 6, {.priority = priority}));
    EXPECT_EQ(shape(dispatch_and_complete()), priority > 5 ? "1x20" : "1x14 3x6");
  }
}

TEST_F(long_prefill, that_is_overdue_is_not_passed) {
  for (const scheduling_policy policy : {scheduling_policy::priority, scheduling_policy::lpm}) {
    set_up({.max_num_batched_tokens = 20, .max_model_len = 5000, .policy = policy, .priority_patience = 64});
    submit(make_request(1, 4000));
    dispatch_and_complete();
    submit(make_request(2, 200));
    request_id next = 3;
    for (int admitted = 0; admitted < 64; ++admitted) {
      submit(make_request(next, 1, {.max_tokens = 1}));
      dispatch_and_complete();
      EXPECT_FALSE(tested->describe(next)) << "it has ended";
      ++next;
    }
    submit(make_request(next, 1, {.max_tokens = 1}));
    dispatch_and_complete();
    ASSERT_TRUE(tested->describe(next));
    EXPECT_EQ(tested->describe(next)->phase, request_phase::waiting);
  }
}

// Drafts are guesses: they get what is left behind what is surely wanted.
TEST_F(long_prefill, has_the_rows_before_any_draft) {
  set_up({.max_num_batched_tokens = 20, .block_size = 1, .num_blocks = 180, .adaptive_drafts = false});
  submit(make_request(1, 2, {.max_tokens = 10}));
  dispatch_and_complete();
  submit(make_request(2, 160, {.max_tokens = 10}));
  dispatch_and_complete();
  submit(make_request(3, 30, {.max_tokens = 10}));
  tested->propose({.id = 1, .after = 4, .tokens = {9, 9, 9}});
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x19");
  EXPECT_EQ(tested->describe(3)->phase, request_phase::waiting);
}

// Whatever waits, comes and is refused: no row is wasted that a prompt could have had, and who would fit
// runs.
TEST_F(long_prefill, leaves_no_step_half_empty) {
  int full = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto draw = [&](int most) {
      return static_cast<std::int32_t>(random() % static_cast<unsigned>(most));
    };
    const std::int32_t budget = 8 + draw(40);
    set_up({.max_num_seqs = 2 + draw(8),
            .max_num_batched_tokens = budget,
            .block_size = 4,
            .num_blocks = 60 + draw(60),
            .max_num_partial_prefills = 1 + draw(3),
            .long_prefill_share = 0.01 * (1 + draw(100)),
            .enable_prefix_caching = draw(2) == 0});
    request_id next = 1;
    std::size_t ended = 0;
    for (int steps = 0; steps < 200; ++steps) {
      while (draw(3) == 0) {
        const std::int32_t prompt = 1 + (draw(2) == 0 ? draw(230) : draw(12));
        submit(make_request(next++, static_cast<std::size_t>(prompt), {.max_tokens = 1 + draw(12)}));
      }
      const step_batch_ptr batch = dispatch();
      if (!batch) continue;
      bool cuts_another = false;  // that was begun before
      for (const sequence_rows& rows : batch->sequences) {
        const auto now = tested->describe(rows.id);
        const bool was_begun = now->computed_tokens > rows.num_rows + now->cached_tokens;
        cuts_another |= was_begun && now->computed_tokens < now->prompt_tokens;
      }
      if (cuts_another) {
        ASSERT_EQ(batch->num_rows(), budget);
        ++full;
      }
      for (const token_event& event : complete(*batch)) ended += event.end ? 1 : 0;
    }
    EXPECT_GT(ended, 10U);
  }
  EXPECT_GT(full, 1000);
}

}  // namespace
}  // namespace troupe
