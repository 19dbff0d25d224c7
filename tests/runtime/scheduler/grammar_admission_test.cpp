// Requests whose grammars are not compiled yet.
#include <gtest/gtest.h>

#include "runtime/grammar/specification/grammar_spec.hpp"
#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

class grammar_admission : public scheduler_test {
 protected:
  void submit_with_grammar(request_id id, sampling_params params = {.max_tokens = 3}) {
    params.grammar = std::make_shared<const grammar_spec>();
    engine_request request = make_request(id, 2);
    request.sampling = std::make_shared<const sampling_params>(params);
    submit(std::move(request));
  }
};

TEST_F(grammar_admission, who_waits_for_a_grammar_keeps_nobody_waiting_and_is_counted) {
  submit_with_grammar(1);
  submit(make_request(2, 2));
  EXPECT_EQ(tested->counts().waiting, 2);
  EXPECT_EQ(tested->counts().waiting_for_grammar, 1);
  EXPECT_EQ(tested->describe(1)->reason, "waiting: grammar");
  EXPECT_EQ(shape(dispatch_and_complete()), "2x2");
  tested->grammar_ready(1);
  EXPECT_EQ(tested->counts().waiting_for_grammar, 0);
  EXPECT_EQ(shape(dispatch_and_complete()), "2x1 1x2");
  tested->grammar_ready(1);
  EXPECT_EQ(tested->counts().waiting_for_grammar, 0) << "it runs already";
}

TEST_F(grammar_admission, who_waits_for_a_grammar_takes_room_in_the_queue_until_it_ends) {
  set_up({.max_num_seqs = 1, .max_num_queued_requests = 0});
  submit_with_grammar(1);
  EXPECT_FALSE(tested->submit(make_request(2, 2)));
  tested->end(1, finish_reason::abort);
  EXPECT_EQ(tested->counts().waiting, 0);
  submit(make_request(3, 2));
}

TEST_F(grammar_admission, a_grammar_that_comes_late_puts_its_request_behind_those_that_wait) {
  set_up({.max_num_seqs = 1});
  submit_with_grammar(1);
  submit(make_request(2, 2, {.max_tokens = 1}));
  tested->grammar_ready(1);
  EXPECT_EQ(shape(dispatch_and_complete()), "2x2");
  EXPECT_EQ(shape(dispatch_and_complete()), "1x2");
}

TEST_F(grammar_admission, a_grammar_that_comes_while_a_plan_is_open_is_planned_where_that_comes_to_nothing) {
  submit(make_request(1, 2));
  submit_with_grammar(2);
  const auto demand = tested->plan();
  ASSERT_NE(demand, nullptr);
  const step_reservation reservation = cache->reserve_step(*demand);
  tested->grammar_ready(2);
  give_back(tested->end(1, finish_reason::abort).releases);
  const resolved_step resolved = tested->resolve(reservation);
  EXPECT_EQ(resolved.batch, nullptr);
  ASSERT_NE(resolved.demand, nullptr) << "nobody else asks again";
  EXPECT_EQ(resolved.demand->sequences.front().id, 2U);
}

TEST_F(grammar_admission, who_waits_does_not_give_way_where_another_of_its_answers_has_begun) {
  set_up({.max_num_seqs = 1, .max_num_queued_requests = 0, .policy = scheduling_policy::priority});
  submit_with_grammar(1);
  submit(make_request(2, 2, {.prompt_logprobs = 1, .fork_of = 1}));
  dispatch_and_complete();
  ASSERT_EQ(tested->describe(2)->phase, request_phase::running);
  tested->grammar_ready(1);
  EXPECT_FALSE(tested->submit(make_request(3, 2, {.priority = -1})));
}

TEST_F(grammar_admission, the_end_of_a_grammar_is_an_end_whatever_the_request_says) {
  submit_with_grammar(1, {.max_tokens = 9, .min_tokens = 5});
  submit_with_grammar(2, {.max_tokens = 9, .ignore_eos = true});
  tested->grammar_ready(1);
  tested->grammar_ready(2);
  const token_batch events = step(0);
  ASSERT_EQ(events.size(), 2U);
  for (const token_event& event : events) EXPECT_TRUE(event.end) << event.id;
}

}  // namespace
}  // namespace troupe
