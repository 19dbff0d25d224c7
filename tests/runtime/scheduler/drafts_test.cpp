// Drafts: what a step verifies, what is taken of it, and that rejected ones cost nothing that lasts.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/grammar/specification/grammar_spec.hpp"
#include "tests/runtime/scheduler/scheduler_fixture.hpp"

namespace troupe {
namespace {

class drafts_test : public scheduler_test {
 protected:
  // One request that has been computed up to its first output token: 4 of prompt, 1 of output.
  void begin(scheduler_limits limits, request_options options = {}) {
    limits.adaptive_drafts = false;
    set_up(limits);
    submit(make_request(1, 4, options));
    step();
  }

  void propose(std::vector<token_id> tokens, std::int32_t after = 5, request_id id = 1) {
    const std::vector<float> sure(tokens.size(), 1.0F);
    tested->propose({.id = id, .after = after, .tokens = std::move(tokens), .probabilities = sure});
  }

  // The step's samples are these, in order.
  token_batch complete_with(const step_batch& batch, const std::vector<token_id>& tokens) {
    step_result result;
    result.step = batch.step;
    for (const token_id token : tokens) result.tokens.push_back({.id = 1, .token = token});
    return complete(result);
  }

  std::int32_t used_blocks() const { return cache->num_blocks() - cache->free_blocks(); }
};

TEST_F(drafts_test, of_three_all_some_and_none_are_accepted_and_each_step_gives_a_token_more) {
  struct outcome {
    std::vector<token_id> sampled, taken;
  };
  const std::vector<outcome> outcomes{
      {{20, 21, 22, 23}, {20, 21, 22, 23}},
      {{20, 21, 99, 23}, {20, 21, 99}},
      {{20, 99, 22, 23}, {20, 99}},
      {{99, 21, 22, 23}, {99}},
  };
  for (const outcome& each : outcomes) {
    begin({.block_size = 1});
    propose({20, 21, 22});
    const auto batch = dispatch();
    ASSERT_EQ(shape(batch), "1x4");
    ASSERT_EQ(batch->samples.size(), 4U);
    EXPECT_EQ(used_blocks(), 8) << "room for the token that is certain and three that are not";
    const token_batch events = complete_with(*batch, each.sampled);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].tokens, token_list(each.taken.begin(), each.taken.end()));
    EXPECT_EQ(used_blocks(), std::min(8, 5 + static_cast<std::int32_t>(each.taken.size())))
        << "rejected slots are free, the next token's is not taken yet";
    EXPECT_EQ(tested->counts().drafts.accepted, each.taken.size() - 1);
    const std::int32_t told = events[0].details ? events[0].details->accepted_drafts : 0;
    EXPECT_EQ(told, static_cast<std::int32_t>(each.taken.size()) - 1);
    const auto next = dispatch();
    ASSERT_EQ(shape(next), "1x1");
    EXPECT_EQ(next->tokens[0], each.taken.back());
    EXPECT_EQ(next->positions[0], 4 + static_cast<std::int32_t>(each.taken.size()));
  }
}

TEST_F(drafts_test, three_of_five_are_accepted_as_the_document_has_it) {
  begin({.block_size = 2});
  propose({20, 21, 22, 23, 24});
  const auto batch = dispatch();
  ASSERT_EQ(shape(batch), "1x6");
  const token_batch events = complete_with(*batch, {20, 21, 22, 77, 24, 25});
  EXPECT_EQ(events[0].tokens, (token_list{20, 21, 22, 77}));
  EXPECT_EQ(used_blocks(), 5) << "9 tokens in blocks of 2";
  const draft_counts counts = tested->counts().drafts;
  EXPECT_EQ(counts.drafts, 1U);
  EXPECT_EQ(counts.tokens, 5U);
  EXPECT_EQ(counts.accepted, 3U);
  const draft_places& places = tested->drafts_by_place();
  for (std::size_t place = 0; place < 6; ++place) {
    EXPECT_EQ(places.verified[place], place < 5 ? 1U : 0U) << place;
    EXPECT_EQ(places.accepted[place], place < 3 ? 1U : 0U) << place;
  }
}

TEST_F(drafts_test, rows_positions_samples_and_histories_are_those_of_the_tokens_one_by_one) {
  begin({}, {.frequency_penalty = 0.5F});
  propose({20, 21});
  const auto batch = dispatch();
  EXPECT_EQ(batch->tokens, (std::vector<token_id>{9, 20, 21}));
  EXPECT_EQ(batch->positions, (std::vector<std::int32_t>{4, 5, 6}));
  ASSERT_EQ(batch->drafts.size(), 1U);
  EXPECT_EQ(batch->draft(batch->drafts[0], 1), 21);
  for (std::int32_t i = 0; i < 3; ++i) {
    const sample_row& sample = batch->samples[static_cast<std::size_t>(i)];
    EXPECT_EQ(sample.row, i);
    EXPECT_EQ(sample.position, 5 + i);
    EXPECT_EQ(sample.num_generated, 1 + i);
  }
  EXPECT_EQ(batch->samples[2].history, (std::vector<token_id>{7, 7, 7, 7, 9, 20, 21}));
}

TEST_F(drafts_test, nothing_is_planned_until_they_are_verified_and_then_as_before) {
  begin({.max_steps_in_flight = 3});
  submit(make_request(2, 4));
  propose({20, 21});
  const auto verifying = dispatch();
  ASSERT_EQ(shape(verifying), "1x3 2x4");
  EXPECT_EQ(dispatch(), nullptr);
  complete_with(*verifying, {20, 99, 22, 50});
  EXPECT_EQ(shape(dispatch()), "1x1 2x1");
  EXPECT_EQ(shape(dispatch()), "1x1 2x1");
}

TEST_F(drafts_test, go_on_behind_a_token_that_nobody_knows_yet) {
  begin({.max_steps_in_flight = 2});
  const auto first = dispatch();
  ASSERT_EQ(shape(first), "1x1");
  propose({20, 21, 22});
  const auto second = dispatch();
  ASSERT_EQ(shape(second), "1x3");
  EXPECT_EQ(second->fed_rows.size(), 1U);
  EXPECT_EQ(second->tokens, (std::vector<token_id>{0, 21, 22}));
  complete_with(*first, {20});
  const token_batch events = complete_with(*second, {21, 22, 23});
  EXPECT_EQ(events[0].tokens, (token_list{21, 22, 23}));
}

TEST_F(drafts_test, are_no_more_than_stand_behind_those_that_lead_up_to_them) {
  begin({.max_steps_in_flight = 2});
  const auto first = dispatch();
  EXPECT_EQ(tested->pending_tokens(1), 1);
  tested->propose({.id = 1, .after = 5, .tokens = {20, 21}, .probabilities = {1.0F, 1.0F}, .lead = 1});
  EXPECT_TRUE(tested->wants_drafts());
  const auto second = dispatch();
  ASSERT_EQ(shape(second), "1x2");
  EXPECT_FALSE(tested->wants_drafts()) << "nobody knows what to go on from";
  complete_with(*first, {20});
  EXPECT_FALSE(tested->wants_drafts());
  const token_batch events = complete_with(*second, {21, 22});
  EXPECT_EQ(events[0].tokens, (token_list{21, 22}));
  EXPECT_TRUE(tested->wants_drafts());
  EXPECT_EQ(tested->pending_tokens(1), 0);
  tested->propose({.id = 1, .after = 8, .tokens = {23, 24, 25}, .probabilities = {1, 1, 1}, .lead = 2});
  EXPECT_EQ(shape(dispatch()), "1x2") << "as many as were asked for";
}

// Whether one of its tokens is verified must not depend on how many were drafted behind it.
TEST_F(drafts_test, that_are_accepted_by_chance_are_verified_whole_from_the_next_token_on) {
  begin({});
  tested->propose(
      {.id = 1, .after = 5, .tokens = {20, 21, 22}, .probabilities = {1, 1, 1}, .number = 1, .lead = 1});
  EXPECT_EQ(shape(dispatch()), "1x4");
}

TEST_F(drafts_test, that_end_an_answer_count_as_right) {
  begin({});
  propose({20, 0, 22});
  complete_with(*dispatch(), {20, 0, 22, 23});
  EXPECT_EQ(tested->counts().drafts.accepted, 2U);
  EXPECT_EQ(tested->counts().drafts.tokens, 3U);
}

TEST_F(drafts_test, that_what_is_known_contradicts_are_not_verified) {
  begin({});
  propose({8, 20}, 4);
  EXPECT_EQ(shape(dispatch()), "1x1") << "the first token was a 9";
  begin({});
  propose({9, 20}, 4);
  EXPECT_EQ(shape(dispatch()), "1x2");
  begin({});
  propose({20}, 6);
  EXPECT_EQ(shape(dispatch()), "1x1") << "behind a token that there is not";
  begin({});
  propose({20}, 5, 77);
  EXPECT_EQ(shape(dispatch()), "1x1") << "of a request that there is not";
}

TEST_F(drafts_test, never_pass_max_tokens_nor_the_budget_nor_an_end) {
  begin({}, {.max_tokens = 3});
  propose({20, 21, 22, 23});
  EXPECT_EQ(shape(dispatch()), "1x2") << "two tokens are left, and one comes without a draft";
  begin({.max_num_batched_tokens = 4});
  propose({20, 21, 22, 23, 24});
  EXPECT_EQ(shape(dispatch()), "1x4");
  begin({});
  propose({20, 0, 22});
  const token_batch events = complete_with(*dispatch(), {20, 0, 22, 23});
  EXPECT_EQ(events[0].tokens, (token_list{20, 0}));
  EXPECT_EQ(events[0].end->reason, finish_reason::stop);
  EXPECT_EQ(used_blocks(), 0);
}

TEST_F(drafts_test, that_were_accepted_are_found_in_the_prefix_cache) {
  begin({.block_size = 2, .enable_prefix_caching = true});
  propose({20, 21, 22});
  complete_with(*dispatch(), {20, 21, 22, 23});
  cache->index_blocks();
  engine_request again = make_request(2, 0);
  again.prompt = {7, 7, 7, 7, 9, 20, 21, 22, 23, 30};
  cache->add_sequence(2, again.prompt, {});
  EXPECT_EQ(cache->cached_tokens(2), 8) << "all but the last token, which is not computed, in blocks of two";
}

TEST_F(drafts_test, take_no_block_from_anybody) {
  set_up({.block_size = 4, .num_blocks = 3, .adaptive_drafts = false});
  submit(make_request(1, 4, {.max_tokens = 8}));
  submit(make_request(2, 3, {.max_tokens = 5}));
  const auto prefill = dispatch();
  ASSERT_EQ(shape(prefill), "1x4 2x3");
  complete(*prefill);
  propose({20, 21, 22, 23, 24}, 5, 1);
  const auto batch = dispatch();
  EXPECT_EQ(shape(batch), "1x4 2x1") << "room in the one block left, which it needs, and no more";
  EXPECT_EQ(tested->counts().preemptions, 0U);
}

// As the service has it: while the cache answers, the step before is over.
TEST_F(drafts_test, that_are_dropped_before_their_step_runs_give_their_blocks_back_with_it) {
  begin({.block_size = 1, .max_steps_in_flight = 2});
  const auto first = dispatch();
  propose({20, 21, 22, 23});
  const auto demand = tested->plan();
  ASSERT_NE(demand, nullptr);
  const step_reservation reservation = cache->reserve_step(*demand);
  EXPECT_EQ(used_blocks(), 9) << "six tokens that are certain, three drafts";
  complete_with(*first, {99});
  const auto second = tested->resolve(reservation).batch;
  ASSERT_EQ(shape(second), "1x1");
  EXPECT_EQ(tested->plan(), nullptr) << "a step behind it would read the table";
  complete_with(*second, {98});
  EXPECT_EQ(used_blocks(), 7);
  EXPECT_EQ(shape(dispatch()), "1x1");
  EXPECT_EQ(shape(dispatch()), "1x1") << "planned ahead, as before";
}

TEST_F(drafts_test, that_are_dropped_take_no_block_from_anybody_either) {
  set_up({.block_size = 1, .num_blocks = 13, .max_steps_in_flight = 2, .adaptive_drafts = false});
  submit(make_request(1, 4, {.max_tokens = 9}));
  submit(make_request(2, 3, {.max_tokens = 9}));
  complete(*dispatch());
  const auto first = dispatch();
  propose({20, 21, 22, 23});
  const auto demand = tested->plan();
  ASSERT_NE(demand, nullptr);
  const step_reservation reservation = cache->reserve_step(*demand);
  EXPECT_EQ(used_blocks(), 13) << "room for two drafts";
  complete_with(*first, {99, 99});
  const auto second = tested->resolve(reservation).batch;
  ASSERT_EQ(shape(second), "1x1 2x1");
  complete_with(*second, {98, 98});
  EXPECT_EQ(shape(dispatch()), "1x1 2x1");
  EXPECT_EQ(tested->counts().preemptions, 0U);
}

TEST_F(drafts_test, are_as_long_as_pays_and_none_before_anything_is_measured) {
  using std::chrono::microseconds;
  set_up({});
  submit(make_request(1, 4));
  step();
  const auto rows_for = [this](float probability) {
    tested->propose({.id = 1,
                     .after = 5,
                     .tokens = {20, 21, 22, 23},
                     .probabilities = std::vector<float>(4, probability)});
    const auto batch = dispatch();
    const std::int32_t rows = batch->num_rows();
    lose_device(blame::nobody);
    give_back(tested->end(1, finish_reason::abort).releases);
    submit(make_request(1, 4));
    step();
    return rows;
  };
  EXPECT_FALSE(tested->wants_drafts());
  EXPECT_EQ(rows_for(1.0F), 1) << "nobody knows what a row costs";
  // A further row costs a quarter of a step.
  for (const std::int32_t rows : {1, 2, 4, 8})
    tested->measured_step({.rows = rows}, microseconds(3000 + 1000 * rows));
  EXPECT_TRUE(tested->wants_drafts());
  EXPECT_EQ(rows_for(0.99F), 5);
  EXPECT_EQ(rows_for(0.6F), 3) << "0.6 and 0.36 of a token pay, 0.216 does not";
  EXPECT_EQ(rows_for(0.1F), 1);
}

TEST_F(drafts_test, are_shorter_behind_a_long_context_and_where_rows_are_drawn_at_random_if_these_take_more) {
  using std::chrono::microseconds;
  const auto rows_for = [this](std::int32_t prompt, float temperature, bool is_measured) {
    set_up({.max_model_len = 1000, .num_blocks = 300});
    for (const std::int32_t rows : {1, 2, 4, 8})
      tested->measured_step({.rows = rows}, microseconds(3000 + 100 * rows));
    if (is_measured) {
      tested->measured_step({.rows = 8, .is_random = true}, microseconds(3800 + 8 * 4000));
      tested->measured_step({.rows = 1, .context = 1256}, microseconds(3100 + 100'000));
      tested->measured_step({.rows = 8, .context = 1256}, microseconds(3800 + 100'000 + 7 * 100'000));
    }
    engine_request request = make_request(1, prompt);
    sampling_params sampling = *request.sampling;
    sampling.temperature = temperature;
    request.sampling = std::make_shared<const sampling_params>(sampling);
    submit(std::move(request));
    while (tested->counts().generation_tokens == 0) step();
    tested->propose(
        {.id = 1, .after = prompt + 1, .tokens = {20, 21, 22}, .probabilities = std::vector<float>(3, 0.5F)});
    return dispatch()->num_rows();
  };
  EXPECT_EQ(rows_for(4, 0.0F, true), 4);
  EXPECT_EQ(rows_for(600, 0.0F, false), 4);
  EXPECT_EQ(rows_for(600, 0.0F, true), 1) << "a row costs as much as a step";
  EXPECT_EQ(rows_for(4, 1.0F, false), 4);
  EXPECT_EQ(rows_for(4, 1.0F, true), 1);
}

TEST_F(drafts_test, are_not_wanted_where_a_further_row_costs_as_much_as_a_step_gives) {
  using std::chrono::microseconds;
  const std::vector<std::int32_t> sizes{1, 2, 4, 8, 16};
  for (const bool is_flat : {false, true}) {
    set_up({});
    for (const std::int32_t rows : sizes)
      tested->measured_step({.rows = rows}, microseconds(is_flat ? 1000 : 1000 * rows));
    EXPECT_FALSE(tested->wants_drafts()) << "nobody runs";
    submit(make_request(1, 4));
    submit(make_request(2, 4));
    step();
    EXPECT_EQ(tested->wants_drafts(), is_flat);
    propose({20, 21, 22});
    EXPECT_EQ(shape(dispatch()), is_flat ? "1x4 2x1" : "1x1 2x1");
  }
}

TEST_F(drafts_test, are_wanted_by_what_the_served_steps_took) {
  using std::chrono::microseconds;
  set_up({});
  for (const std::int32_t rows : {1, 2}) tested->measured_step({.rows = rows}, microseconds(1000 * rows));
  const auto serve = [this](microseconds took) {
    const auto batch = dispatch();
    tested->served_step(took);
    complete(*batch);
    return batch->num_rows();
  };
  submit(make_request(1, 4, {.max_tokens = 900}));
  step();
  EXPECT_EQ(serve(microseconds(1000)), 1);
  EXPECT_FALSE(tested->wants_drafts()) << "a further row costs as much as a step";
  submit(make_request(2, 4, {.max_tokens = 900}));
  step();
  for (int i = 0; i < 200; ++i) serve(microseconds(1100));
  give_back(tested->end(2, finish_reason::abort).releases);
  EXPECT_TRUE(tested->wants_drafts()) << "two rows take hardly longer than one";
}

TEST_F(drafts_test, are_not_wanted_beside_as_many_requests_as_fill_what_comes_for_nothing) {
  set_up({});
  for (const std::int32_t rows : {1, 2, 4, 8, 16})
    tested->measured_step({.rows = rows}, std::chrono::microseconds(1000 * std::max(rows - 3, 1)));
  for (request_id id = 1; id <= 5; ++id) {
    submit(make_request(id, 4));
    step();
    EXPECT_EQ(tested->wants_drafts(), id < 4) << id << " requests, and four rows cost no more than one";
  }
}

// Were its length chosen by its tokens, those that look likely would come too often.
TEST_F(drafts_test, with_a_number_are_as_long_as_they_are_whatever_their_tokens_promise) {
  set_up({.max_num_batched_tokens = 8});
  for (const std::int32_t rows : {1, 8})
    tested->measured_step({.rows = rows}, std::chrono::microseconds(500 + 500 * rows));
  for (const std::uint64_t number : {0U, 7U}) {
    const request_id id = number + 1;
    submit(make_request(id, 4));
    step();
    tested->propose({.id = id,
                     .after = 5,
                     .tokens = {20, 21, 22},
                     .probabilities = {0.01F, 0.9F, 0.01F},
                     .number = number});
    const auto batch = dispatch();
    EXPECT_EQ(shape(batch), number == 0 ? "1x1" : "8x4");
    if (number != 0) {
      ASSERT_EQ(batch->drafts.size(), 1U);
      EXPECT_EQ(batch->drafts[0].draft, number);
    }
    lose_device(blame::nobody);
    give_back(tested->end(id, finish_reason::abort).releases);
  }
}

TEST_F(drafts_test, are_held_to_a_grammar_behind_the_output_before_them) {
  set_up({});
  engine_request held = make_request(1, 4);
  sampling_params params = *held.sampling;
  params.grammar = std::make_shared<const grammar_spec>();
  held.sampling = std::make_shared<const sampling_params>(params);
  submit(std::move(held));
  submit(make_request(2, 4));
  const auto place = [this](const draft& guess) { return tested->place_in_grammar(guess); };
  EXPECT_EQ(place({.id = 1, .after = 4}), 0);
  EXPECT_EQ(place({.id = 1, .after = 9}), 5);
  EXPECT_EQ(place({.id = 1, .after = 3}), std::nullopt) << "a prompt is held to nothing";
  EXPECT_EQ(place({.id = 1, .after = 9, .number = 7}), 5);
  EXPECT_EQ(place({.id = 2, .after = 9}), std::nullopt);
  EXPECT_EQ(place({.id = 3, .after = 9}), std::nullopt);
}

TEST_F(drafts_test, are_no_more_than_a_request_asks_for) {
  for (const std::int32_t most : {0, 2}) {
    set_up({.adaptive_drafts = false});
    engine_request request = make_request(1, 4);
    sampling_params sampling = *request.sampling;
    sampling.num_speculative_tokens = most;
    request.sampling = std::make_shared<const sampling_params>(sampling);
    submit(std::move(request));
    step();
    propose({20, 21, 22});
    EXPECT_EQ(dispatch()->num_rows(), 1 + most);
  }
}

TEST_F(drafts_test, stop_beside_so_many_requests_as_the_setting_says) {
  begin({.disable_drafts_by_batch_size = 1});
  EXPECT_TRUE(tested->wants_drafts());
  submit(make_request(2, 4));
  step();
  EXPECT_FALSE(tested->wants_drafts());
  propose({20, 21}, 6);
  EXPECT_EQ(shape(dispatch()), "1x1 2x1");
}

}  // namespace
}  // namespace troupe
