// Whose place a better request takes, and beside whom it goes first.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

class priority : public scheduler_test {
 protected:
  void use(scheduler_limits limits) {
    limits.policy = scheduling_policy::priority;
    set_up(limits);
  }
  void come(request_id id, std::size_t prompt, std::int32_t number) {
    submit(make_request(id, prompt, {.max_tokens = 300, .priority = number}));
  }
  std::uint64_t preemptions() const { return tested->counts().preemptions; }
};

TEST_F(priority, takes_nobodys_place_for_a_long_prompt_that_has_to_wait_for_another) {
  use({.max_num_seqs = 2, .max_num_batched_tokens = 20});
  come(1, 4, 10);
  dispatch_and_complete();
  come(2, 300, 0);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x19");
  come(3, 200, 0);
  for (int steps = 0; steps < 14; ++steps) {
    EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x19");
    EXPECT_EQ(preemptions(), 0U);
  }
  EXPECT_EQ(shape(dispatch_and_complete()), "2x15 3x5") << "the prompt before it ends with this step";
}

TEST_F(priority, takes_a_place_for_a_brief_prompt_beside_a_long_one) {
  use({.max_num_seqs = 2, .max_num_batched_tokens = 20, .long_prefill_share = 0.25});
  come(1, 4, 10);
  dispatch_and_complete();
  come(2, 300, 5);
  dispatch_and_complete();
  come(3, 30, 5);
  EXPECT_EQ(shape(dispatch_and_complete()), "2x5 3x15");
  EXPECT_EQ(preemptions(), 1U);
}

// A step has no token for more.
TEST_F(priority, takes_a_place_among_as_many_as_the_step_has_tokens) {
  use({.max_num_seqs = 8, .max_num_batched_tokens = 4});
  for (request_id id = 1; id <= 6; ++id) come(id, 1, id == 2 ? 20 : 10);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 3x1 4x1 5x1");
  come(7, 1, 10);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 3x1 4x1 5x1") << "it is no better";
  come(8, 1, 0);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 3x1 4x1 8x1");
  EXPECT_EQ(preemptions(), 1U);
  EXPECT_EQ(tested->describe(5)->phase, request_phase::waiting);
}

TEST_F(priority, takes_no_place_where_a_token_is_left_for_it) {
  use({.max_num_seqs = 8, .max_num_batched_tokens = 4});
  for (request_id id = 1; id <= 3; ++id) come(id, 1, 10);
  submit(make_request(4, 1, {.max_tokens = 1, .priority = 10}));
  const step_batch_ptr first = dispatch();
  EXPECT_EQ(shape(first), "1x1 2x1 3x1 4x1");
  come(5, 1, 0);
  complete(*first);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x1 3x1 5x1");
  EXPECT_EQ(preemptions(), 0U);
}

TEST_F(priority, lets_a_better_long_prompt_go_before_one_that_is_under_way) {
  use({.max_num_batched_tokens = 20, .long_prefill_share = 0.25});
  come(1, 300, 10);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x20");
  come(2, 155, 5);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x5 2x15") << "it finds what long ones leave to others";
  for (int steps = 0; steps < 3; ++steps) {
    EXPECT_EQ(shape(dispatch_and_complete()), "2x20");
    EXPECT_EQ(tested->describe(1)->computed_tokens, 25) << "what is computed of it is kept";
  }
  EXPECT_EQ(shape(dispatch_and_complete()), "2x15 1x5") << "80 tokens are left: it is a brief one by now";
  EXPECT_EQ(preemptions(), 0U);
}

TEST_F(priority, lets_no_other_long_prompt_go_before_one_that_is_under_way) {
  use({.max_num_batched_tokens = 20, .priority_patience = 1});
  come(1, 300, 10);
  come(2, 3, 0);
  EXPECT_EQ(shape(dispatch_and_complete()), "2x3 1x17");
  come(3, 155, 10);
  dispatch_and_complete();
  EXPECT_EQ(tested->describe(3)->reason, "waiting: other prompts are computed (max_num_partial_prefills)");
  come(4, 155, 5);
  dispatch_and_complete();
  EXPECT_EQ(tested->describe(4)->phase, request_phase::waiting) << "the first is overdue";
}

TEST_F(priority, of_several_long_prompts_the_best_share_the_step_and_the_others_pause) {
  use({.max_num_batched_tokens = 20,
       .long_prefill_token_threshold = 8,
       .max_num_partial_prefills = 2,
       .long_prefill_share = 0.5});
  come(1, 300, 9);
  come(2, 300, 8);
  EXPECT_EQ(shape(dispatch_and_complete()), "2x8 1x8");
  come(3, 300, 7);
  EXPECT_EQ(shape(dispatch_and_complete()), "2x7 1x5 3x8");
  EXPECT_EQ(shape(dispatch_and_complete()), "3x8 2x8 1x4") << "what they leave";
  come(4, 10, 7);
  EXPECT_EQ(shape(dispatch_and_complete()), "3x7 2x5 4x8");
}

}  // namespace
}  // namespace troupe
