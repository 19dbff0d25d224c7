// The masks of steps: their shape, whom they wait for, and that matchers and tokens agree whatever happens.
#include "tests/runtime/grammar/grammar_sessions_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <string>
#include <vector>

#include "runtime/grammar/specification/compile_spec.hpp"
#include "tests/support/list_tokenizer.hpp"

namespace troupe::grammar {
namespace {

std::size_t count(std::span<const std::uint32_t> words) {
  std::size_t bits = 0;
  for (const std::uint32_t word : words) bits += static_cast<std::size_t>(std::popcount(word));
  return bits;
}

TEST(grammar_sessions, one_batch_of_three_kinds_shares_masks_of_3_times_1000_words) {
  grammar_sessions sessions;
  sessions.open(1, grammar_of({.kind = grammar_kind::json_object}));
  sessions.open(3, grammar_of(regex("[a-z]+")));
  const auto masks = masks_of(sessions, step_of(1, {{1}, {2, 0, false}, {3}}));
  ASSERT_NE(masks, nullptr);
  EXPECT_EQ(masks->num_words, 1000U);
  ASSERT_EQ(masks->words.size(), 3U * 1000);
  EXPECT_TRUE(has_token(masks->mask_of(0), '{'));
  EXPECT_FALSE(has_token(masks->mask_of(0), 'a'));
  EXPECT_TRUE(masks->mask_of(1).empty()) << "no mask at all, and ";
  EXPECT_EQ(count(std::span(masks->words).subspan(1000, 1000)), vocabulary_size) << "all ones";
  EXPECT_EQ(count(masks->mask_of(2)), 26U);
  EXPECT_TRUE(has_token(masks->mask_of(2), 'q'));
}

// With three drafts each, the masks of a step are [3, 4, 1000] words.
class drafts_of_three : public ::testing::Test {
 protected:
  drafts_of_three() {
    sessions.open(1, grammar_of({.kind = grammar_kind::choice, .choices = {"abcd", "abx"}}));
    sessions.open(2, grammar_of(regex("[0-9]{2}")));
    sessions.open(3, grammar_of(regex("x*")));
    masks = masks_of(sessions, step_of(1, {{.id = 1, .drafts = {'a', 'b', 'c'}},
                                           {.id = 2, .drafts = {'1', 'x', '2'}},
                                           {.id = 3, .drafts = {'x', end_token, 'x'}}}));
  }
  std::span<const std::uint32_t> mask(std::size_t request, std::size_t place) {
    return masks->mask_of(request * 4 + place);
  }

  grammar_sessions sessions;
  step_masks_ptr masks;
};

TEST_F(drafts_of_three, take_3_times_4_times_1000_words_one_mask_for_each_state) {
  ASSERT_EQ(masks->words.size(), 3U * 4 * 1000);
  EXPECT_EQ(count(mask(0, 0)), 1U);
  EXPECT_TRUE(has_token(mask(0, 2), 'c') && has_token(mask(0, 2), 'x'));
  EXPECT_TRUE(has_token(mask(0, 3), 'd'));
  EXPECT_EQ(count(mask(1, 1)), 10U);
  EXPECT_TRUE(mask(1, 2).empty() && mask(1, 3).empty()) << "nobody reads behind a draft that is not allowed";
  EXPECT_EQ(count(mask(2, 1)), 2U);
  EXPECT_TRUE(mask(2, 2).empty()) << "behind its end a text has nothing";
}

TEST_F(drafts_of_three, leave_the_matchers_behind_the_last_token_that_was_taken) {
  sessions.advance(sampled(1, {'a', 'b', 'x', 'd',     // the first two drafts are right
                               '7', '1', '2', '3',     // none
                               'x', 'x', 'x', 'x'}));  // the first
  const auto after = masks_of(sessions, step_of(2, {{1, 3}, {2, 1}, {3, 2}}));
  EXPECT_EQ(count(after->mask_of(0)), 1U);
  EXPECT_TRUE(has_token(after->mask_of(0), end_token)) << "abx is complete";
  EXPECT_EQ(count(after->mask_of(1)), 10U) << "one digit of two";
  EXPECT_EQ(count(after->mask_of(2)), 2U);
}

TEST(grammar_sessions, a_draft_is_possible_up_to_the_first_token_that_its_grammar_does_not_have) {
  grammar_sessions sessions;
  for (const request_id id : {1, 2}) sessions.open(id, grammar_of(regex("ab[0-9]{2}c?")));
  const auto possible = [&](const std::vector<token_id>& draft) {
    return sessions.count_possible(1, 0, draft);
  };
  EXPECT_EQ(possible({'a', 'b', '1', '2'}), 4U);
  EXPECT_EQ(possible({'a', 'b', 'x', '2'}), 2U);
  EXPECT_EQ(possible({'x', 'a', 'b'}), 0U);
  EXPECT_EQ(possible({'a', 500, 'b'}), 1U);
  EXPECT_EQ(possible({'a', -1}), 1U);
  EXPECT_EQ(possible({'a', static_cast<token_id>(vocabulary_size)}), 1U);
  EXPECT_EQ(possible({'a', 'b', '1', '2', end_token, 'c'}), 5U) << "nothing follows an end";
  EXPECT_EQ(possible({}), 0U);
  const auto masks = masks_of(sessions, step_of(1, {{1}, {2}}));
  EXPECT_TRUE(std::ranges::equal(masks->mask_of(0), masks->mask_of(1))) << "the matcher has not moved";
}

TEST(grammar_sessions, a_draft_is_compared_with_what_is_known_and_tried_behind_it) {
  grammar_sessions sessions;
  for (const request_id id : {1, 2}) sessions.open(id, grammar_of(regex("[a-z]{3}[0-9]{2}")));
  ASSERT_NE(masks_of(sessions, step_of(1, {{1}, {2}})), nullptr);
  sessions.begin(step_of(2, {{1, 1}, {2, 1}}));
  sessions.advance(sampled(1, {'k', 'k'}));
  const auto possible = [&](std::size_t num_generated, const std::vector<token_id>& draft) {
    return sessions.count_possible(1, num_generated, draft);
  };
  EXPECT_EQ(possible(0, {'k', 'a', 'b', '1'}), 4U);
  EXPECT_EQ(possible(0, {'k', 'a', '1'}), 2U);
  EXPECT_EQ(possible(0, {'j', 'a', 'b'}), 0U) << "the first token is another";
  EXPECT_EQ(possible(0, {'k'}), 1U);
  EXPECT_EQ(possible(1, {'a', 'b', 'c'}), 2U);
  EXPECT_EQ(possible(2, {'b', 'c', '#'}), 3U) << "nobody knows yet what is before it";
  // The step that was begun before has its masks as if nobody had asked.
  while (sessions.fill_one()) {
  }
  const auto masks = sessions.take();
  ASSERT_NE(masks, nullptr);
  EXPECT_EQ(count(masks->mask_of(0)), 26U);
  EXPECT_TRUE(std::ranges::equal(masks->mask_of(0), masks->mask_of(1)));
}

TEST(grammar_sessions, a_draft_of_nobody_or_of_a_request_that_cannot_go_on_is_left_to_the_masks) {
  grammar_sessions sessions;
  const std::vector<token_id> draft{'x', 'y'};
  EXPECT_EQ(sessions.count_possible(1, 0, draft), 2U);
  sessions.open(1, grammar_of(regex("a")));
  EXPECT_EQ(sessions.count_possible(1, 0, draft), 0U);
  ASSERT_NE(masks_of(sessions, step_of(1, {{1}})), nullptr);
  sessions.advance(sampled(1, {'b'}));  // not what the mask allows
  EXPECT_EQ(sessions.count_possible(1, 0, draft), 2U);
  sessions.release(1);
  EXPECT_EQ(sessions.count_possible(1, 0, draft), 2U);
}

TEST(grammar_sessions, a_mask_waits_for_the_tokens_before_it_and_others_do_not_wait_for_it) {
  grammar_sessions sessions;
  sessions.open(1, grammar_of(regex("ab*")));
  sessions.open(2, grammar_of(regex("c+")));
  ASSERT_NE(masks_of(sessions, step_of(1, {{1}})), nullptr);
  // Planned while the first runs: one row needs what that samples, the other has its prompt's end here.
  sessions.begin(step_of(2, {{1, 1}, {2}}));
  EXPECT_TRUE(sessions.fill_one());
  EXPECT_FALSE(sessions.fill_one());
  EXPECT_EQ(sessions.take(), nullptr);
  sessions.advance(sampled(1, {'a'}));
  EXPECT_TRUE(sessions.fill_one());
  const auto masks = sessions.take();
  ASSERT_NE(masks, nullptr);
  EXPECT_EQ(masks->step, 2U);
  EXPECT_TRUE(has_token(masks->mask_of(0), 'b') && has_token(masks->mask_of(0), end_token));
  EXPECT_EQ(count(masks->mask_of(1)), 1U);
}

// Bytes spelled one by one: "abc" is three tokens.
TEST(grammar_sessions, tokens_without_a_choice_follow_the_sample_except_where_log_probabilities_are_wanted) {
  grammar_sessions sessions(troupe::test::byte_tokenizer());
  for (const request_id id : {1, 2, 3}) sessions.open(id, grammar_of(regex("abc[xy]z")));
  auto masks = masks_of(sessions, step_of(1, {{1}, {2, 0, true, true}, {3}}));
  ASSERT_EQ(masks->forced.size(), 2U);
  EXPECT_EQ(masks->forced[0].sample, 0);
  EXPECT_EQ(masks->forced[0].tokens, (std::vector<token_id>{'b', 'c'}));
  EXPECT_EQ(masks->forced[1].sample, 2);
  EXPECT_EQ(count(masks->mask_of(0)), 1U);
  // Begun before anybody knew: its rows stand within what is forced, or just behind it.
  sessions.begin(step_of(2, {{1, 1}, {2, 1, true, true}}));
  sessions.begin(step_of(3, {{1, 2}, {3, 3}}));
  step_result result = sampled(1, {'a', 'a', 'a'});
  note_masks(*masks, result);
  sessions.advance(result);
  while (sessions.fill_one()) {
  }
  masks = sessions.take();
  ASSERT_NE(masks, nullptr);
  EXPECT_TRUE(count(masks->mask_of(0)) == 1 && has_token(masks->mask_of(0), 'b'));
  EXPECT_TRUE(has_token(masks->mask_of(1), 'b'));
  EXPECT_TRUE(masks->forced.empty());
  sessions.advance(sampled(2, {'b', 'b'}));
  while (sessions.fill_one()) {
  }
  masks = sessions.take();
  ASSERT_NE(masks, nullptr);
  EXPECT_TRUE(count(masks->mask_of(0)) == 1 && has_token(masks->mask_of(0), 'c'));
  EXPECT_TRUE(has_token(masks->mask_of(1), 'x') && has_token(masks->mask_of(1), 'y'));
  sessions.advance(sampled(3, {'c', 'y'}));
  masks = masks_of(sessions, step_of(4, {{1, 3}, {3, 4}}));
  EXPECT_TRUE(has_token(masks->mask_of(0), 'x'));
  EXPECT_TRUE(has_token(masks->mask_of(1), 'z'));
  EXPECT_TRUE(masks->forced.empty()) << "one token alone is as soon sampled";
}

// The scheduler passes over what steps planned ahead sample for their places.
TEST(grammar_sessions, an_error_among_forced_tokens_is_told_behind_them) {
  const auto grammar = *compile(regex("(a{20}[xy]){60}"), vocabulary_of_steps(),
                                {.max_mask_steps = 600, .mask_steps_per_token = 100});
  grammar_sessions sessions(troupe::test::byte_tokenizer());
  sessions.open(1, grammar);
  std::uint64_t step = 0;
  for (std::int32_t n = 0; n < 60 * 21; n += 21) {
    auto masks = masks_of(sessions, step_of(++step, {{1, n}}));
    ASSERT_EQ(masks->forced.size(), 1U);
    for (const std::int32_t ahead : {1, 2})
      sessions.begin(step_of(step + static_cast<std::uint64_t>(ahead), {{1, n + ahead}}));
    grammar->let_go();  // so that all tokens are read again, which once is more than the limit
    step_result result = sampled(step, {'a'});
    note_masks(*masks, result);
    sessions.advance(result);
    for (int ahead = 0; ahead < 2; ++ahead) {
      while (sessions.fill_one()) {
      }
      masks = sessions.take();
      ASSERT_TRUE(masks != nullptr && masks->ends.empty());
      sessions.advance(sampled(++step, {'a'}));
    }
    masks = masks_of(sessions, step_of(++step, {{1, n + 20}}));
    if (!masks->ends.empty()) {
      EXPECT_TRUE(masks->ends[0].failure.has_value());
      return;
    }
    sessions.advance(sampled(step, {'x'}));
  }
  FAIL() << "the text was never too long";
}

TEST(grammar_sessions, a_request_that_has_ended_holds_nobody_up) {
  grammar_sessions sessions;
  for (const request_id id : {1, 2}) sessions.open(id, grammar_of(regex("ab")));
  ASSERT_NE(masks_of(sessions, step_of(1, {{1}, {2}})), nullptr);
  sessions.begin(step_of(2, {{1, 1}, {2, 1}}));
  EXPECT_FALSE(sessions.fill_one());
  sessions.release(1);
  EXPECT_TRUE(sessions.fill_one());
  EXPECT_FALSE(sessions.fill_one());
  sessions.advance(sampled(1, {'a', 'a'}));
  EXPECT_TRUE(sessions.fill_one());
  const auto masks = sessions.take();
  ASSERT_NE(masks, nullptr);
  EXPECT_TRUE(masks->mask_of(0).empty());
  EXPECT_EQ(count(masks->mask_of(1)), 1);
}

TEST(grammar_sessions, steps_that_are_lost_leave_their_requests_where_they_were) {
  grammar_sessions sessions;
  sessions.open(1, grammar_of(regex("ab")));
  sessions.open(2, grammar_of(regex("[^a-z]")));  // no token may follow the first
  ASSERT_NE(masks_of(sessions, step_of(1, {{1}, {2}})), nullptr);
  sessions.advance(sampled(1, {'a', '1'}));
  const auto told = masks_of(sessions, step_of(2, {{1, 1}, {2, 1}}));
  sessions.begin(step_of(3, {{1, 2}}));
  sessions.forget_steps();
  sessions.advance(sampled(2, {'z', 'z'}));
  const auto again = masks_of(sessions, step_of(4, {{1, 1}, {2, 1}}));
  ASSERT_NE(again, nullptr);
  EXPECT_TRUE(std::ranges::equal(again->mask_of(0), told->mask_of(0)));
  EXPECT_TRUE(has_token(again->mask_of(0), 'b'));
  EXPECT_TRUE(std::ranges::equal(again->mask_of(1), told->mask_of(1)));
}

TEST(grammar_sessions, the_end_token_closes_and_rows_behind_it_are_let_through) {
  grammar_sessions sessions;
  sessions.open(1, grammar_of(regex("a?")));
  ASSERT_NE(masks_of(sessions, step_of(1, {{1}})), nullptr);
  sessions.begin(step_of(2, {{1, 1}}));
  sessions.advance(sampled(1, {end_token}));
  EXPECT_TRUE(sessions.fill_one());
  EXPECT_TRUE(sessions.take()->mask_of(0).empty());
}

TEST(grammar_sessions, what_cannot_go_on_ends_its_request_alone) {
  grammar_sessions sessions;
  const auto spellable = grammar_of(regex("[a-z]+"));
  sessions.open(1, spellable);
  sessions.open(2, grammar_of(regex("\\x03a")));  // a token has that byte, with another one
  sessions.open(3, *compile(regex("(a|b)*c{0,300}"), vocabulary_of_steps(), {.max_mask_steps = 2}));
  auto masks = masks_of(sessions, step_of(1, {{1}, {2}, {3}}));
  ASSERT_EQ(masks->ends.size(), 2U);
  EXPECT_EQ(masks->ends[0].sample, 1);
  EXPECT_EQ(masks->ends[0].failure->code, error_code::invalid_argument);
  EXPECT_EQ(masks->ends[1].sample, 2);
  EXPECT_EQ(masks->ends[1].failure->param, "max_mask_steps");
  EXPECT_EQ(count(masks->mask_of(0)), 26U);
  sessions.advance(sampled(1, {'a', 0, 0}));
  // A token that the mask does not have: the sampler's fault, told as one.
  masks = masks_of(sessions, step_of(2, {{1, 1}}));
  sessions.advance(sampled(2, {'1'}));
  masks = masks_of(sessions, step_of(3, {{1, 2}}));
  ASSERT_EQ(masks->ends.size(), 1U);
  EXPECT_TRUE(masks->ends[0].failure.has_value());
}

TEST(grammar_sessions, a_text_that_becomes_costly_does_not_tell_against_its_grammar) {
  grammar_sessions sessions;
  sessions.open(1, *compile(regex("(a|b)*a(a|b){60}"), vocabulary_of_steps(),
                            {.max_mask_steps = 20'000, .mask_steps_per_token = 1}));
  std::optional<error> failure;
  std::uint32_t random = 1;
  for (std::int32_t n = 0; n < 200 && !failure; ++n) {
    const auto step = static_cast<std::uint64_t>(n + 1);
    const auto masks = masks_of(sessions, step_of(step, {{1, n}}));
    if (!masks->ends.empty()) failure = masks->ends[0].failure;
    random = random * 1664525 + 1013904223;
    sessions.advance(sampled(step, {random >> 31 ? 'a' : 'b'}));
  }
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->param, "mask_steps_per_token");
  const auto overruns = sessions.take_overruns();
  ASSERT_EQ(overruns.size(), 1U);
  EXPECT_TRUE(overruns[0].is_of_text);
}

// The same step by one thread and by three: requests of few grammars, one without a mask that the vocabulary
// can spell, one past its limit.
TEST(grammar_sessions, masks_of_several_threads_are_those_of_one) {
  const std::vector<compiled_grammar_ptr> grammars{
      grammar_of(regex("[a-z]+")), grammar_of({.kind = grammar_kind::json_object}),
      grammar_of(regex("\\x03a")),
      *compile(regex("(a|b)*c{0,300}"), vocabulary_of_steps(), {.max_mask_steps = 2}),
      grammar_of(regex("(ab|ac|d)*"))};
  grammar_sessions one, many;
  std::vector<asked> rows;
  for (request_id id = 1; id <= 40; ++id) {
    rows.push_back({id, 0, id % 6 != 0});
    one.open(id, grammars[id % grammars.size()]);
    many.open(id, grammars[id % grammars.size()]);
  }
  mask_team team(3);
  std::atomic<std::size_t> wrapped = 0;
  const auto expected = masks_of(one, step_of(1, rows));
  many.begin(step_of(1, rows));
  EXPECT_EQ(many.fill_ready(team,
                            [&](const std::function<void()>& fill) {
                              ++wrapped;
                              fill();
                            }),
            34U);
  EXPECT_EQ(wrapped, 34U);
  EXPECT_EQ(many.fill_ready(team, [](const std::function<void()>&) {}), 0U);
  const auto masks = many.take();
  ASSERT_NE(masks, nullptr);
  EXPECT_EQ(masks->words, expected->words);
  EXPECT_EQ(masks->is_masked, expected->is_masked);
  ASSERT_EQ(masks->ends.size(), expected->ends.size());
  EXPECT_GE(masks->ends.size(), 12U);
  for (std::size_t i = 0; i < masks->ends.size(); ++i) {
    EXPECT_EQ(masks->ends[i].sample, expected->ends[i].sample);
    EXPECT_EQ(masks->ends[i].failure->message, expected->ends[i].failure->message);
  }
}

TEST(grammar_sessions, threads_fill_what_waits_for_no_token_and_then_the_rest) {
  grammar_sessions sessions;
  mask_team team(2);
  const auto each = [](const std::function<void()>& fill) { fill(); };
  for (const request_id id : {1, 2, 3}) sessions.open(id, grammar_of(regex("[a-c]{2}")));
  ASSERT_NE(masks_of(sessions, step_of(1, {{1}})), nullptr);
  sessions.begin(step_of(2, {{2}, {1, 1}, {3}}));
  EXPECT_EQ(sessions.fill_ready(team, each), 2U);
  EXPECT_EQ(sessions.take(), nullptr);
  sessions.advance(sampled(1, {'a'}));
  EXPECT_EQ(sessions.fill_ready(team, each), 1U);
  const auto masks = sessions.take();
  ASSERT_NE(masks, nullptr);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(count(masks->mask_of(i)), 3U);
}

TEST(grammar_sessions, a_complete_text_ends_where_the_vocabulary_has_no_end) {
  std::vector<vocabulary_token> tokens{{"a"}, {"b"}};
  grammar_sessions sessions;
  sessions.open(1, *compile(regex("ab"), make_token_trie(tokens), grammar_limits{}));
  for (const token_id token : {0, 1}) {
    const auto step = static_cast<std::uint64_t>(token) + 1;
    const auto masks = masks_of(sessions, step_of(step, {{1, token}}));
    EXPECT_EQ(count(masks->mask_of(0)), 1U);
    sessions.advance(sampled(step, {token}));
  }
  const auto masks = masks_of(sessions, step_of(3, {{1, 2}}));
  ASSERT_EQ(masks->ends.size(), 1U);
  EXPECT_FALSE(masks->ends[0].failure.has_value());
}

}  // namespace
}  // namespace troupe::grammar
