// Tokens that come with a sample: how they are planned beside prompts and decodes.
#include <gtest/gtest.h>

#include <vector>

#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

class forced_tokens_test : public scheduler_test {
 protected:
  // Every sample is a 9; request `id`, where it is sampled, has `count` tokens forced behind it.
  token_batch complete_forcing(const step_batch& batch, request_id id, std::size_t count) {
    step_result result = sampled(batch);
    for (std::size_t i = 0; i < result.tokens.size(); ++i)
      if (result.tokens[i].id == id)
        result.forced.push_back({static_cast<std::int32_t>(i), std::vector<token_id>(count, 8)});
    return complete(result);
  }
};

TEST_F(forced_tokens_test, are_computed_in_one_chunk_before_any_prompt_even_an_older_one) {
  set_up({.max_num_batched_tokens = 10, .long_prefill_token_threshold = 6});
  submit(make_request(1, 40));
  submit(make_request(2, 3));
  auto batch = dispatch();
  ASSERT_EQ(shape(batch), "1x6 2x3");
  const token_batch events = complete_forcing(*batch, 2, 4);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].tokens.size(), 5U);
  EXPECT_EQ(tested->counts().forced_tokens, 4U);
  EXPECT_EQ(tested->counts().generation_tokens, 5U);
  batch = dispatch();
  EXPECT_EQ(shape(batch), "2x5 1x5");
  ASSERT_EQ(batch->samples.size(), 1U);
  EXPECT_EQ(batch->samples[0].num_generated, 5);
}

TEST_F(forced_tokens_test, are_no_partial_prompt_that_would_keep_a_long_one_from_starting) {
  set_up({.max_num_batched_tokens = 10});
  submit(make_request(1, 3));
  complete_forcing(*dispatch(), 1, 2);
  submit(make_request(2, 40));
  for (int step = 0; step < 3; ++step) {
    const auto batch = dispatch();
    ASSERT_EQ(shape(batch), "1x3 2x7");
    complete_forcing(*batch, 1, 2);
  }
}

TEST_F(forced_tokens_test, end_with_the_request_and_at_most_max_tokens_are_taken) {
  submit(make_request(1, 3, {.max_tokens = 4}));
  submit(make_request(2, 3, {.stop_token_ids = {8}}));
  const auto batch = dispatch();
  token_batch events = complete_forcing(*batch, 1, 9);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].tokens.size(), 4U);
  EXPECT_EQ(events[0].end->reason, finish_reason::length);
  EXPECT_EQ(events[0].end->tokens.completion_tokens, 4);
  events = complete_forcing(*dispatch(), 2, 9);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].tokens, (token_list{9, 8}));
  EXPECT_EQ(events[0].end->stop_token, 8);
}

TEST_F(forced_tokens_test, pass_over_the_samples_of_steps_that_were_planned_before) {
  set_up({.max_steps_in_flight = 3});
  submit(make_request(1, 3));
  const auto first = dispatch(), second = dispatch(), third = dispatch();
  ASSERT_EQ(shape(third), "1x1");
  EXPECT_EQ(complete_forcing(*first, 1, 1)[0].tokens.size(), 2U);
  EXPECT_TRUE(complete_forcing(*second, 0, 0).empty()) << "known since the first step";
  const token_batch events = complete_forcing(*third, 0, 0);
  ASSERT_EQ(events.size(), 1U) << "this one is the first that nobody knew";
  EXPECT_EQ(events[0].tokens.size(), 1U);
  EXPECT_EQ(dispatch()->samples[0].num_generated, 3);
}

}  // namespace
}  // namespace troupe
