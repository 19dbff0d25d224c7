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
  submit(make_request(1, 100));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x20") << "alone it has all of it";
  submit(make_request(2, 15));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x5 2x15");
  submit(make_request(3, 6));
  EXPECT_EQ(shape(dispatch_and_complete()), "2x1 1x13 3x6") << "what nobody wants goes back to it";
}

TEST_F(long_prefill, keeps_the_whole_step_where_that_is_its_share) {
  set_up({.max_num_batched_tokens = 20, .long_prefill_share = 1.0});
  submit(make_request(1, 50));
  dispatch_and_complete();
  submit(make_request(2, 6));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x20");
  EXPECT_EQ(tested->describe(2)->reason, "waiting: the steps are full (max_num_batched_tokens)");
  EXPECT_EQ(shape(dispatch_and_complete()), "1x10 2x6");
}

TEST_F(long_prefill, goes_on_however_small_its_share) {
  set_up({.max_num_batched_tokens = 20,
          .long_prefill_token_threshold = 8,
          .max_num_partial_prefills = 2,
          .long_prefill_share = 0.001});
  submit(make_request(1, 21));
  submit(make_request(2, 40));
  dispatch_and_complete();
  submit(make_request(3, 8));
  submit(make_request(4, 8));
  submit(make_request(5, 2));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x1 3x8 4x8 5x2");
}

TEST_F(long_prefill, makes_no_room_for_another_that_is_cut) {
  set_up({.max_num_batched_tokens = 20, .max_num_partial_prefills = 2});
  submit(make_request(1, 50));
  dispatch_and_complete();
  submit(make_request(2, 70));
  submit(make_request(3, 4));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x16 3x4");
  EXPECT_EQ(shape(dispatch_and_complete()), "3x1 1x14 2x5");
}

TEST_F(long_prefill, is_passed_by_short_prompts_while_it_waits_for_another) {
  set_up({.max_num_batched_tokens = 20});
  submit(make_request(1, 70));
  dispatch_and_complete();
  submit(make_request(2, 70));
  submit(make_request(3, 6));
  submit(make_request(4, 40));
  submit(make_request(5, 3));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x11 3x6 5x3");
  EXPECT_EQ(tested->describe(2)->reason, "waiting: other prompts are computed (max_num_partial_prefills)");
  EXPECT_EQ(tested->describe(4)->reason, "waiting: 1 ahead");
  for (int steps = 0; tested->describe(1)->generated_tokens == 0; ++steps) {
    ASSERT_LT(steps, 4);
    EXPECT_EQ(tested->describe(2)->phase, request_phase::waiting);
    dispatch_and_complete();
  }
  dispatch_and_complete();
  EXPECT_EQ(tested->describe(2)->phase, request_phase::running) << "the first of those that wait";
  EXPECT_EQ(tested->describe(4)->phase, request_phase::waiting);
}

TEST_F(long_prefill, has_all_of_the_step_where_those_who_wait_find_no_blocks) {
  set_up({.max_num_batched_tokens = 20, .block_size = 1, .num_blocks = 64});
  submit(make_request(1, 60, {.max_tokens = 2}));
  dispatch_and_complete();
  submit(make_request(2, 6, {.max_tokens = 2}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x20");
  EXPECT_EQ(tested->describe(2)->reason, "waiting: no blocks (needs 6, free 4)");
}

TEST_F(long_prefill, has_the_rows_that_a_cached_prefix_saves_another) {
  set_up({.max_num_batched_tokens = 20, .block_size = 4, .enable_prefix_caching = true});
  submit(make_request(1, 12, {.max_tokens = 1}));
  dispatch_and_complete();
  engine_request different = make_request(2, 100);
  std::ranges::fill(different.prompt, 8);
  submit(std::move(different));
  dispatch_and_complete();
  submit(make_request(3, 13));
  EXPECT_EQ(shape(dispatch_and_complete()), "2x19 3x1");
}

TEST_F(long_prefill, of_a_better_priority_makes_no_room_for_worse_ones) {
  for (const std::int32_t priority : {0, 4, 5, 6}) {
    set_up({.max_num_batched_tokens = 20, .policy = scheduling_policy::priority});
    submit(make_request(1, 100, {.priority = 5}));
    dispatch_and_complete();
    submit(make_request(2, 6, {.priority = priority}));
    EXPECT_EQ(shape(dispatch_and_complete()), priority > 5 ? "1x20" : "1x14 2x6");
  }
}

TEST_F(long_prefill, that_waits_is_not_passed_by_worse_ones) {
  for (const std::int32_t priority : {4, 5, 6}) {
    set_up({.max_num_batched_tokens = 20, .policy = scheduling_policy::priority});
    submit(make_request(1, 100, {.priority = 9}));
    dispatch_and_complete();
    submit(make_request(2, 70, {.priority = 5}));
    submit(make_request(3, 6, {.priority = priority}));
    EXPECT_EQ(shape(dispatch_and_complete()), priority > 5 ? "1x20" : "1x14 3x6");
  }
}

// Drafts are guesses: they get what is left behind what is surely wanted.
TEST_F(long_prefill, has_the_rows_before_any_draft) {
  set_up({.max_num_batched_tokens = 20, .block_size = 1, .num_blocks = 80, .adaptive_drafts = false});
  submit(make_request(1, 2, {.max_tokens = 10}));
  dispatch_and_complete();
  submit(make_request(2, 60, {.max_tokens = 10}));
  dispatch_and_complete();
  submit(make_request(3, 30, {.max_tokens = 10}));
  tested->propose({.id = 1, .after = 4, .tokens = {9, 9, 9}});
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x19");
  EXPECT_EQ(tested->describe(3)->phase, request_phase::waiting);
}

// Whatever waits, comes and is refused: no row is wasted that a prompt could have had, and who would fit
// runs.
TEST_F(long_prefill, leaves_no_step_half_empty) {
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
        const std::int32_t prompt = 1 + (draw(2) == 0 ? draw(150) : draw(12));
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
      }
      for (const token_event& event : complete(*batch)) ended += event.end ? 1 : 0;
    }
    EXPECT_GT(ended, 10U);
  }
}

}  // namespace
}  // namespace troupe
