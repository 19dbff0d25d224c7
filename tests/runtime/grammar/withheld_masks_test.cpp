// Masks that take more work than the others of a step wait for: whose row is withheld, for how long, and what
// becomes of the steps that were planned behind it.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/grammar/specification/compile_spec.hpp"
#include "tests/runtime/grammar/grammar_sessions_fixture.hpp"
#include "tests/support/list_tokenizer.hpp"

namespace troupe::grammar {
namespace {

// To look at every word costs some 2,000 steps.
const char* const costly = "#[0-9]{1,5}|[a-z]";
constexpr std::uint64_t few_steps = 100;
using samples = std::vector<std::int32_t>;

// Fresh: what one test has worked out is not known to another.
compiled_grammar_ptr costly_grammar() { return grammar_of(regex(costly)); }

// Of a step in which nobody's token depends on what another step samples.
step_masks_ptr next_masks(grammar_sessions& sessions, std::uint64_t step, const std::vector<asked>& rows) {
  step_masks_ptr masks = masks_of(sessions, step_of(step, rows));
  if (!masks) return masks;
  step_result result = sampled(step, std::vector<token_id>(rows.size(), 'a'));
  note_masks(*masks, result);
  sessions.advance(result);
  return masks;
}

TEST(withheld_masks, a_costly_one_is_withheld_beside_others_until_it_is_worked_out) {
  grammar_sessions free_of_bounds;
  free_of_bounds.open(1, costly_grammar());
  const auto expected = next_masks(free_of_bounds, 1, {{1}, {2, 0, false}});
  ASSERT_TRUE(expected->withheld.empty());

  grammar_sessions sessions(nullptr, few_steps);
  sessions.open(1, costly_grammar());
  std::uint64_t step = 0;
  step_masks_ptr masks;
  do {
    masks = next_masks(sessions, ++step, {{1}, {2, 0, false}});
    ASSERT_NE(masks, nullptr);
    if (masks->withheld.empty()) break;
    EXPECT_TRUE(masks->withheld == samples{0} && masks->mask_of(0).empty());
  } while (step < 100);
  EXPECT_GT(step, 3U);
  EXPECT_LT(step, 100U);
  EXPECT_TRUE(std::ranges::equal(masks->mask_of(0), expected->mask_of(0)));
  masks = next_masks(sessions, ++step, {{1, 1}, {2, 1, false}});
  EXPECT_TRUE(has_token(masks->mask_of(0), end_token)) << "one token was taken in, not one for each try";
}

TEST(withheld_masks, what_waiting_takes_is_not_held_against_the_text) {
  grammar_sessions sessions(nullptr, few_steps);
  sessions.open(1, *compile(regex(costly), vocabulary_of_steps(), {.max_mask_steps = 3000}));
  std::uint64_t step = 0;
  step_masks_ptr masks;
  while (step < 100 && !(masks = next_masks(sessions, ++step, {{1}, {2, 0, false}}))->withheld.empty()) {
  }
  EXPECT_TRUE(masks->ends.empty()) << "one try has enough steps, all together do not";
  EXPECT_TRUE(has_token(masks->mask_of(0), '#'));
}

// Not a step more than where nobody waits: else a text would end in company that goes on alone.
TEST(withheld_masks, cost_a_text_no_more_in_pieces_than_whole) {
  const std::vector<grammar_spec> specs{
      regex(costly),
      regex("(.*7.{9})*"),
      {.kind = grammar_kind::grammar, .text = "root ::= (x x x x x)*\nx ::= \"a\"? y\ny ::= \"b\"? root?\n"},
      {.kind = grammar_kind::json_schema,
       .text = R"({"patternProperties":{"a":{"const":1},"b":{"enum":[1,22]},"ab":{"type":"integer"}}})"}};
  const grammar_limits nothing_comes_back{.max_mask_steps = 1'000'000'000, .mask_steps_per_token = 0};
  for (const grammar_spec& spec : specs) {
    for (const std::uint64_t least : {1, 10, 100, 1000}) {
      SCOPED_TRACE(spec.text + " in pieces of " + std::to_string(least));
      matcher whole(*compile(spec, vocabulary_of_steps(), nothing_comes_back));
      matcher pieces(*compile(spec, vocabulary_of_steps(), nothing_comes_back));
      std::vector<std::uint32_t> expected(vocabulary_of_steps()->num_words()), got = expected;
      for (std::size_t place = 0; place < 12 && !whole.is_terminated(); ++place) {
        ASSERT_TRUE(whole.fill_mask(expected));
        std::uint64_t most = least, tries = 0;
        for (auto tried = pieces.try_mask(got, most); tried && *tried != matcher::progress::done;
             tried = pieces.try_mask(got, most))
          if (*tried == matcher::progress::none || ++tries % 8 == 0) most *= 2;
        ASSERT_EQ(got, expected);
        ASSERT_GE(pieces.steps_left(), whole.steps_left()) << place;
        std::vector<token_id> allowed;
        for (token_id token = 0; token < static_cast<token_id>(vocabulary_of_steps()->vocab_size()); ++token)
          if (has_token(expected, token)) allowed.push_back(token);
        const token_id chosen = allowed[place * 7 % allowed.size()];
        ASSERT_TRUE(whole.accept(chosen) && pieces.accept(chosen));
      }
    }
  }
}

// Else the first who asks for such a grammar would be told of its own text, and the next would pay again.
TEST(withheld_masks, that_no_text_can_have_are_the_grammars_fault_in_pieces_too) {
  const grammar_limits few{.max_mask_steps = 2'000, .mask_steps_per_token = 1};
  matcher pieces(*compile(regex("(.*7.{14})*"), vocabulary_of_steps(), few));
  std::vector<std::uint32_t> mask(vocabulary_of_steps()->num_words());
  std::uint64_t most = 10;
  auto tried = pieces.try_mask(mask, most);
  for (; tried && *tried != matcher::progress::done && most < 1'000'000; most += 100)
    tried = pieces.try_mask(mask, most);
  ASSERT_FALSE(tried.has_value());
  EXPECT_EQ(tried.error().param, "max_mask_steps");
  EXPECT_FALSE(pieces.is_text_to_blame());
}

TEST(withheld_masks, who_has_the_step_for_itself_waits_for_its_mask) {
  grammar_sessions sessions(nullptr, few_steps);
  sessions.open(1, costly_grammar());
  const auto masks = next_masks(sessions, 1, {{1}});
  EXPECT_TRUE(masks->withheld.empty());
  EXPECT_TRUE(has_token(masks->mask_of(0), '#') && has_token(masks->mask_of(0), 1000));
}

TEST(withheld_masks, where_all_would_wait_one_is_served_and_the_next_time_who_waited) {
  grammar_sessions sessions(nullptr, few_steps);
  for (const request_id id : {1, 2, 3}) sessions.open(id, grammar_of(regex(costly + std::to_string(id))));
  EXPECT_EQ(next_masks(sessions, 1, {{1}, {2}, {3}})->withheld, (samples{1, 2}));
  EXPECT_EQ(next_masks(sessions, 2, {{1, 1}, {2}, {3}})->withheld, (samples{0, 2}));
  sessions.release(1);
  std::uint64_t step = 2;
  while (step < 100 && !next_masks(sessions, ++step, {{2}, {3}})->withheld.empty()) {
  }
  EXPECT_LT(step, 10U);
}

// What one of them is spared comes to the others: nobody waits for ever beside newcomers.
TEST(withheld_masks, who_waited_longest_comes_first_whatever_its_place_in_the_step) {
  grammar_sessions sessions(nullptr, 1000);
  sessions.open(1, costly_grammar());
  std::uint64_t step = 0;
  bool is_served = false;
  for (request_id other = 2; !is_served && step < 20; ++other) {
    sessions.open(other, costly_grammar());
    const auto masks = next_masks(sessions, ++step, {{other}, {100, 0, false}, {1}});
    is_served = !std::ranges::binary_search(masks->withheld, 2);
    sessions.release(other);
  }
  EXPECT_GT(step, 1U);
  EXPECT_LT(step, 8U);
}

TEST(withheld_masks, steps_planned_behind_a_withheld_row_neither_wait_nor_count) {
  grammar_sessions sessions(nullptr, few_steps);
  sessions.open(1, costly_grammar());
  const auto ahead = [&](std::uint64_t step, std::int32_t place) {
    sessions.begin(step_of(step, {{1, place}, {2, place, false}}));
    while (sessions.fill_one()) {
    }
  };
  ahead(1, 0);
  ahead(2, 1);  // begun before it is known
  auto masks = sessions.take();
  ASSERT_EQ(masks->withheld, samples{0});
  ahead(3, 2);  // and after
  for (const std::uint64_t step : {2, 3}) {
    const auto in_vain = sessions.take();
    ASSERT_TRUE(in_vain != nullptr && in_vain->step == step) << "waits for a token that does not come";
    EXPECT_TRUE(in_vain->withheld.empty() && in_vain->mask_of(0).empty());
  }
  step_result result = sampled(1, {'#', 'x'});
  note_masks(*masks, result);
  sessions.advance(result);
  sessions.advance(sampled(2, {'#', 'x'}));
  sessions.advance(sampled(3, {'#', 'x'}));
  std::uint64_t step = 3;
  for (; step < 100 && !(masks = next_masks(sessions, step + 1, {{1}, {2, 3, false}}))->withheld.empty();
       ++step) {
  }
  EXPECT_TRUE(has_token(masks->mask_of(0), 'a')) << "no token was taken in";
  // From here on it is as ever: what is planned ahead waits for the token.
  sessions.begin(step_of(step + 2, {{1, 1}}));
  EXPECT_TRUE(sessions.fill_one());
  EXPECT_TRUE(has_token(sessions.take()->mask_of(0), end_token));
}

TEST(withheld_masks, of_drafts_those_before_the_costly_one_are_taken) {
  grammar_sessions sessions(nullptr, few_steps);
  sessions.open(1, grammar_of(regex("a(" + std::string(costly) + ")")));
  const asked drafted{.id = 1, .drafts = {'a', 'b'}};
  auto masks = masks_of(sessions, step_of(1, {drafted, {2, 0, false}}));
  ASSERT_EQ(masks->withheld, samples{1});
  EXPECT_TRUE(has_token(masks->mask_of(0), 'a') && masks->mask_of(2).empty());
  step_result result = sampled(1, {'a', 'b', 'b', 'x'});
  note_masks(*masks, result);
  sessions.advance(result);
  std::uint64_t step = 1;
  while (step < 100 && !(masks = next_masks(sessions, ++step, {{1, 1}, {2, 1, false}}))->withheld.empty()) {
  }
  EXPECT_TRUE(has_token(masks->mask_of(0), '#'));
}

// Whether tokens are forced must not depend on who else is in the step.
TEST(withheld_masks, what_is_forced_is_waited_for) {
  const std::string text = "a(" + std::string(60, 'b') + "[xy]|" + std::string(60, 'c') + "z)";
  for (const std::uint64_t most : {std::uint64_t{1}, std::uint64_t{20}, matcher::no_bound}) {
    grammar_sessions sessions(troupe::test::byte_tokenizer(), most);
    sessions.open(1, grammar_of(regex(text)));
    std::uint64_t step = 0;
    const auto wait_for = [&](std::int32_t place, token_id token) {
      while (step < 1000) {
        auto masks = masks_of(sessions, step_of(++step, {{1, place}, {2, 0, false}}));
        step_result result = sampled(step, {token, 'x'});
        note_masks(*masks, result);
        sessions.advance(result);
        if (masks->withheld.empty()) return masks;
      }
      return step_masks_ptr();
    };
    EXPECT_TRUE(wait_for(0, 'a')->forced.empty());
    EXPECT_TRUE(wait_for(1, 'b')->forced.empty());
    const auto masks = wait_for(2, 'b');
    ASSERT_EQ(masks->forced.size(), 1U) << most;
    EXPECT_EQ(masks->forced[0].tokens, std::vector<token_id>(58, 'b'));
    EXPECT_TRUE(has_token(wait_for(61, 'x')->mask_of(0), 'y'));
    EXPECT_EQ(step > 4, most != matcher::no_bound);
  }
}

// Whatever work others have in the same step: it is none to find what is known.
TEST(withheld_masks, that_are_known_are_not_withheld_beside_others) {
  for (const tokenizer_ptr& spells : {tokenizer_ptr(), troupe::test::byte_tokenizer()}) {
    grammar_sessions sessions(spells, 1000);
    const auto known = grammar_of(regex("[a-z]{30}"));
    sessions.open(1, known);
    for (std::uint64_t step = 1; step <= 30; ++step)
      ASSERT_TRUE(next_masks(sessions, step, {{1, static_cast<std::int32_t>(step) - 1}})->withheld.empty());
    sessions.open(2, known);
    for (std::int32_t place = 0; place < 20; ++place) {
      sessions.open(3, grammar_of(regex("(.*7.{14})*" + std::to_string(place))));
      const auto masks =
          next_masks(sessions, 31 + static_cast<std::uint64_t>(place), {{3}, {2, place}, {4, 0, false}});
      EXPECT_EQ(masks->withheld, samples{0}) << place;
    }
  }
}

// Nor what is forced behind them, which is work, too.
TEST(withheld_masks, that_are_prepared_are_not_withheld_again) {
  grammar_sessions sessions(troupe::test::byte_tokenizer(), few_steps);
  sessions.open(1,
                grammar_of(regex("(" + std::string(400, 'b') + "|" + std::string(400, 'b') + "c){3}[xy]")));
  sessions.open(2, costly_grammar());
  const auto masks = next_masks(sessions, 1, {{1}, {2}, {3, 0, false}});
  ASSERT_EQ(masks->withheld, (samples{0, 1}));
  std::vector<request_id> order;
  int times = 0;
  for (std::vector<request_id> waiting{1, 2}; !waiting.empty() && times < 1000; ++times)
    for (const request_id id : sessions.prepare(waiting)) {
      order.push_back(id);
      std::erase(waiting, id);
    }
  EXPECT_EQ(order, (std::vector<request_id>{1, 2}));
  EXPECT_GT(times, 6);
  const auto again = next_masks(sessions, 2, {{1}, {2}, {3, 1, false}});
  EXPECT_TRUE(again->withheld.empty());
  EXPECT_EQ(again->forced.size(), 1U);
  EXPECT_EQ(sessions.prepare(std::vector<request_id>{7}), std::vector<request_id>{7}) << "nobody knows it";
}

TEST(withheld_masks, threads_together_spend_what_one_may) {
  mask_team team(3);
  grammar_sessions sessions(nullptr, few_steps);
  std::vector<asked> rows{{100, 0, false}};
  for (request_id id = 1; id <= 8; ++id) {
    sessions.open(id, grammar_of(regex(costly + std::to_string(id % 4))));
    rows.push_back({id});
  }
  std::uint64_t step = 0;
  std::size_t left = 8;
  for (; left > 0 && step < 200; ++step) {
    sessions.begin(step_of(step + 1, rows));
    while (sessions.fill_ready(team, [](const std::function<void()>& fill) { fill(); }) > 0) {
    }
    const auto masks = sessions.take();
    ASSERT_NE(masks, nullptr);
    left = masks->withheld.size();
    step_result result = sampled(step + 1, std::vector<token_id>(rows.size(), 'a'));
    note_masks(*masks, result);
    result.withheld.clear();
    for (std::int32_t sample = 1; sample <= 8; ++sample) result.withheld.push_back(sample);
    sessions.advance(result);
  }
  EXPECT_GT(step, 2U);
  EXPECT_EQ(left, 0U);
}

}  // namespace
}  // namespace troupe::grammar
