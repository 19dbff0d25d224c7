// How requests leave, and what they leave behind.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ending : public scheduler_test {
 protected:
  // Of a request that has waited for so long when it is refused.
  std::int32_t retry_after(steady_time::duration waited) {
    set_up({.max_num_seqs = 1});
    submit(make_request(1, 2));
    dispatch_and_complete();
    const steady_time start{};
    submit(make_request(2, 2, {.queue_deadline = start}));
    const auto output = tested->expire(start + waited);
    return output.events.size() == 1 ? output.events[0].end->failure->retry_after : 0;
  }
};

TEST_F(ending, who_is_refused_is_told_whole_seconds_from_one_to_an_hour) {
  EXPECT_EQ(retry_after(seconds(0)), 1);
  EXPECT_EQ(retry_after(milliseconds(3001)), 4);
  EXPECT_EQ(retry_after(seconds(7200)), 3600);
}

TEST_F(ending, the_next_deadline_is_the_first_of_both_kinds) {
  const steady_time start{};
  submit(make_request(1, 2, {.deadline = start + seconds(9)}));
  EXPECT_EQ(tested->next_deadline(), start + seconds(9));
  submit(make_request(2, 2, {.queue_deadline = start + seconds(3)}));
  EXPECT_EQ(tested->next_deadline(), start + seconds(3));
  tested->end(2, finish_reason::abort);
  EXPECT_EQ(tested->next_deadline(), start + seconds(9));
  submit(make_request(3, 2, {.queue_deadline = start + seconds(20)}));
  EXPECT_EQ(tested->next_deadline(), start + seconds(9));
}

TEST_F(ending, blocks_that_a_step_in_flight_still_holds_are_counted_on) {
  set_up({.block_size = 1, .num_blocks = 8, .max_steps_in_flight = 2});
  submit(make_request(1, 3, {.max_tokens = 2}));
  submit(make_request(2, 3, {.max_tokens = 2}));
  submit(make_request(3, 2, {.max_tokens = 2}));
  const auto first = dispatch();
  ASSERT_EQ(shape(first), "1x3 2x3 3x2");
  give_back(tested->end(3, finish_reason::abort).releases);
  EXPECT_EQ(dispatch(), nullptr) << "no block is free";
  EXPECT_EQ(tested->counts().preemptions, 0U) << "two will be";
  complete(*first);
  EXPECT_EQ(shape(dispatch_and_complete()), "1x1 2x1");
}

// Rows of decodes stand before those of prompts, whoever runs for longer.
TEST_F(ending, those_of_one_step_leave_in_whatever_order_they_run) {
  set_up({.max_num_batched_tokens = 20, .long_prefill_token_threshold = 6, .max_num_partial_prefills = 3});
  submit(make_request(1, 12, {.max_tokens = 1}));
  submit(make_request(2, 2, {.max_tokens = 2}));
  submit(make_request(3, 2, {.max_tokens = 9}));
  submit(make_request(4, 12, {.max_tokens = 1}));
  submit(make_request(5, 2, {.max_tokens = 2}));
  EXPECT_EQ(shape(dispatch_and_complete()), "1x6 2x2 3x2 4x6 5x2");
  EXPECT_EQ(shape(dispatch_and_complete()), "2x1 3x1 5x1 1x6 4x6") << "all but 3 end with it";
  EXPECT_EQ(tested->counts().running, 1);
  EXPECT_EQ(shape(dispatch()), "3x1");
}

TEST_F(ending, who_comes_after_a_refused_request_is_not_taken_for_it) {
  set_up({.block_size = 1, .num_blocks = 10});
  submit(make_request(1, 6, {.max_tokens = 4}));
  dispatch_and_complete();
  submit(make_request(2, 8, {.max_tokens = 2}));
  dispatch_and_complete();
  ASSERT_EQ(tested->describe(2)->reason, "waiting: no blocks (needs 8, free 3)");
  tested->end(2, finish_reason::abort);
  submit(make_request(3, 8, {.max_tokens = 2}));
  EXPECT_EQ(tested->describe(3)->reason, "waiting: for the next step");
}

TEST_F(ending, drr_is_told_the_output_of_who_has_ended) {
  set_up({.max_num_seqs = 1, .max_num_batched_tokens = 100, .policy = scheduling_policy::drr});
  const auto submit_for = [this](request_id id, const char* tenant, std::int32_t max_tokens) {
    engine_request request = make_request(id, 100, {.max_tokens = max_tokens});
    request.tenant = tenant;
    submit(std::move(request));
  };
  submit_for(1, "talks", 150);
  submit_for(2, "talks", 1);
  submit_for(3, "listens", 1);
  submit_for(4, "listens", 1);
  std::string order;
  while (const auto batch = dispatch_and_complete())
    if (batch->tokens.size() > 1) order += shape(batch) + " ";
  EXPECT_EQ(order, "1x100 3x100 4x100 2x100 ");
}

}  // namespace
}  // namespace troupe
