// Who is blamed for a device that is lost, and who is not; how all are computed again.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/scheduler/suspects.hpp"
#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

class replay : public scheduler_test {
 protected:
  void SetUp() override { set_up({.max_num_batched_tokens = 4}); }

  // In ascending order.
  static std::vector<request_id> ids_of(const step_batch& batch) {
    std::vector<request_id> ids;
    for (const sequence_rows& rows : batch.sequences) ids.push_back(rows.id);
    std::ranges::sort(ids);
    return ids;
  }

  // So many chunks of the one long prompt, or tokens behind it, and the next step takes the device along.
  token_batch lose_device_after(int steps, blame whose) {
    for (int i = 0; i < steps; ++i) EXPECT_FALSE(dispatch_and_complete()->sequences.empty());
    EXPECT_NE(dispatch(), nullptr);
    return lose_device(whose);
  }
};

TEST_F(replay, a_prompt_that_gets_further_each_time_is_not_blamed) {
  submit(make_request(1, 40));
  for (int chunks = 0; chunks < 6; ++chunks)
    ASSERT_TRUE(lose_device_after(chunks, blame::oldest_step).empty()) << chunks;
  for (int i = 0; i < 10; ++i) ASSERT_NE(dispatch_and_complete(), nullptr);
  EXPECT_EQ(tested->counts().generation_tokens, 1U);
}

TEST_F(replay, a_prompt_that_crashes_at_the_same_place_is_convicted_though_its_beginning_is_computed) {
  submit(make_request(1, 40));
  ASSERT_TRUE(lose_device_after(2, blame::oldest_step).empty());
  const token_batch events = lose_device_after(2, blame::oldest_step);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].end->reason, finish_reason::error);
}

TEST_F(replay, whose_device_is_killed_is_not_blamed_wherever_that_is) {
  submit(make_request(1, 40));
  for (int i = 1; i < suspects::kills_that_convict; ++i)
    ASSERT_TRUE(lose_device_after(2, blame::perhaps_oldest_step).empty()) << i;
  for (int i = 0; i < 10; ++i) ASSERT_NE(dispatch_and_complete(), nullptr);
  for (int i = 0; i < suspects::kills_that_convict; ++i) {
    for (const auto before = tested->counts().generation_tokens;
         tested->counts().generation_tokens == before;)
      ASSERT_NE(dispatch_and_complete(), nullptr);
    ASSERT_TRUE(lose_device_after(0, blame::perhaps_oldest_step).empty()) << "it gets further each time";
  }
}

TEST_F(replay, whoever_makes_room_for_suspects_is_not_preempted) {
  set_up({});
  for (request_id id = 1; id <= 4; ++id) submit(make_request(id, 2));
  complete(*dispatch());
  ASSERT_NE(dispatch(), nullptr);
  lose_device(blame::oldest_step);
  std::vector<std::vector<request_id>> steps;
  for (int i = 0; i < 3; ++i) steps.push_back(ids_of(*dispatch_and_complete()));
  EXPECT_EQ(steps, (std::vector<std::vector<request_id>>{{1, 2}, {3, 4}, {1, 2, 3, 4}}))
      << "whoever has got over it is not beside those who are still to be tried";
  for (int i = 0; i < 5; ++i) dispatch_and_complete();
  EXPECT_EQ(tested->counts().running, 4);
  EXPECT_EQ(tested->counts().preemptions, 0U);
  EXPECT_EQ(tested->describe(4)->preemptions, 0);
}

// As a prompt of as many tokens does.
TEST_F(replay, a_long_answer_that_is_computed_again_leaves_the_step_to_who_waits_but_for_its_share) {
  set_up({.max_num_batched_tokens = 20, .long_prefill_share = 0.25});
  submit(make_request(1, 2, {.max_tokens = 400}));
  for (int tokens = 0; tokens < 200; ++tokens) dispatch_and_complete();
  lose_device(blame::nobody);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x20") << "alone it has all of it";
  submit(make_request(2, 34));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x5 2x15");
  submit(make_request(3, 170));
  EXPECT_EQ(shape(dispatch_and_complete()), "2x15 1x5");
  EXPECT_EQ(shape(dispatch_and_complete()), "2x4 1x16");
  EXPECT_EQ(tested->describe(3)->reason, "waiting: other prompts are computed (max_num_partial_prefills)");
}

TEST_F(replay, a_brief_answer_that_is_computed_again_is_one_of_the_prompts_that_may_be_cut) {
  set_up({.max_num_batched_tokens = 40, .long_prefill_token_threshold = 8});
  submit(make_request(1, 2, {.max_tokens = 100}));
  for (int tokens = 0; tokens < 20; ++tokens) dispatch_and_complete();
  lose_device(blame::nobody);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x8");
  submit(make_request(2, 12));
  submit(make_request(3, 3));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x8 3x3");
  EXPECT_EQ(tested->describe(2)->reason, "waiting: other prompts are computed (max_num_partial_prefills)");
  EXPECT_EQ(shape(dispatch_and_complete()), "3x1 1x6 2x8");
}

TEST_F(replay, a_prompt_whose_log_probabilities_were_told_is_computed_again_without_them) {
  set_up({.max_num_batched_tokens = 40});
  submit(make_request(1, 20, {.prompt_logprobs = 2}));
  step_batch_ptr batch = dispatch();
  EXPECT_EQ(batch->prompt_logprobs.size(), 19U);
  lose_device(blame::nobody);
  batch = dispatch();
  EXPECT_EQ(batch->prompt_logprobs.size(), 19U) << "nobody has been told";
  EXPECT_EQ(complete(*batch)[0].details->prompt_logprobs.size(), 19U);
  lose_device(blame::nobody);
  batch = dispatch();
  EXPECT_EQ(shape(batch), "1x21");
  EXPECT_TRUE(batch->prompt_logprobs.empty());
  EXPECT_FALSE(complete(*batch)[0].details);
}

}  // namespace
}  // namespace troupe
