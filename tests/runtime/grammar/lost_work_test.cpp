// What a request writes does not depend on how often all that was worked out for it is let go of, nor on how
// little of it one step may do.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "runtime/grammar/hash.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"
#include "tests/runtime/grammar/grammar_sessions_fixture.hpp"
#include "tests/support/list_tokenizer.hpp"

namespace troupe::grammar {
namespace {

constexpr int most_tries = 10'000;

struct text_in_pieces {
  std::vector<token_id> tokens;
  std::vector<std::size_t> steps;  // how many tokens came with each
  std::string failure;
};

// As if drawn with the seed of the request: by its place in the text alone.
token_id draw_by_place(std::span<const std::uint32_t> mask, std::size_t place, std::uint64_t seed) {
  std::vector<token_id> allowed;
  for (std::size_t token = 0; token < vocabulary_size; ++token)
    if (has_token(mask, static_cast<token_id>(token))) allowed.push_back(static_cast<token_id>(token));
  return allowed[mix(seed, place) % allowed.size()];
}

// Beside a request without a grammar, with what was worked out gone after each use of it.
text_in_pieces write_losing_work(const compiled_grammar_ptr& grammar, std::uint64_t steps_a_step,
                                 bool loses_work, std::uint64_t seed) {
  grammar_sessions sessions(troupe::test::byte_tokenizer(), steps_a_step);
  sessions.open(1, grammar);
  text_in_pieces all;
  const auto lose = [&] {
    if (loses_work) grammar->let_go();
  };
  std::uint64_t step = 0;
  for (int tries = 0; tries < most_tries && all.tokens.size() < 120; ++tries) {
    const auto place = static_cast<std::int32_t>(all.tokens.size());
    const auto masks = masks_of(sessions, step_of(++step, {{1, place}, {2, 0, false}}));
    lose();
    if (!masks->ends.empty()) {
      all.failure = masks->ends[0].failure ? masks->ends[0].failure->message : "complete";
      return all;
    }
    step_result result = sampled(step, {0, 'x'});
    note_masks(*masks, result);
    if (masks->withheld.empty()) {
      const token_id token = draw_by_place(masks->mask_of(0), all.tokens.size(), seed);
      result.tokens[0].token = token;
      all.tokens.push_back(token);
      for (const forced_tokens& forced : masks->forced)
        all.tokens.insert(all.tokens.end(), forced.tokens.begin(), forced.tokens.end());
      all.steps.push_back(all.tokens.size() - static_cast<std::size_t>(place));
    }
    sessions.advance(result);
    lose();
    if (!masks->withheld.empty())
      while (tries++ < most_tries && sessions.prepare(std::vector<request_id>{1}).empty()) lose();
    if (!all.tokens.empty() && all.tokens.back() == end_token) return all;
  }
  return all;
}

compiled_grammar_ptr schema_with_forced_names(const grammar_limits& limits = {}) {
  return *compile(
      {.kind = grammar_kind::json_schema,
       .text = R"({"type":"object","properties":{"name":{"type":"string","minLength":10,"maxLength":20},)"
               R"("tags":{"type":"array","items":{"type":"string","maxLength":5},"minItems":2,"maxItems":3},)"
               R"("a_rather_long_member_name_here":{"enum":["the first of all values","the second of all"]},)"
               R"("n":{"type":"integer","minimum":5,"maximum":5000}},"additionalProperties":false,)"
               R"("required":["name","tags","n","a_rather_long_member_name_here"]})"},
      vocabulary_of_steps(), limits);
}

TEST(lost_work, changes_no_token) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto expected = write_losing_work(schema_with_forced_names(), matcher::no_bound, false, seed);
    for (const std::uint64_t most : {std::uint64_t{1}, std::uint64_t{100}, matcher::no_bound}) {
      const auto got = write_losing_work(schema_with_forced_names(), most, true, seed);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(most) + " steps a step");
      EXPECT_EQ(got.failure, expected.failure);
      EXPECT_EQ(got.tokens, expected.tokens);
      EXPECT_EQ(got.steps, expected.steps);
    }
  }
}

// It may end where it would have gone on in company, with less to spend, but never with other tokens.
TEST(lost_work, of_others_changes_no_token_of_what_may_spend_little) {
  std::size_t whole = 0;
  for (const std::uint64_t most : {5'000, 10'000, 20'000, 40'000, 80'000}) {
    SCOPED_TRACE(std::to_string(most) + " steps a text");
    const auto grammar = schema_with_forced_names({.max_mask_steps = most, .mask_steps_per_token = 1});
    const auto alone = write_losing_work(grammar, matcher::no_bound, false, 1);
    const auto in_company = write_losing_work(schema_with_forced_names(), matcher::no_bound, false, 1);
    ASSERT_GE(in_company.steps.size(), alone.steps.size());
    EXPECT_TRUE(std::ranges::equal(alone.steps, std::span(in_company.steps).first(alone.steps.size())));
    EXPECT_TRUE(std::ranges::equal(alone.tokens, std::span(in_company.tokens).first(alone.tokens.size())));
    if (alone.failure.empty()) ++whole;
    EXPECT_EQ(alone.failure.empty(), alone.tokens.size() == in_company.tokens.size());
  }
  EXPECT_GE(whole, 1U);
}

}  // namespace
}  // namespace troupe::grammar
