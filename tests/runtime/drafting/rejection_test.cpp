// Drafts of a draft model that are accepted or rejected by chance leave the target's distribution as it is:
// whole texts, drawn by the steps of the service, against the probabilities of all texts.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/drafting/drafted_texts_fixture.hpp"
#include "tests/runtime/sampling/text_distribution_fixture.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

// A fifth under a sanitizer; never more, which would take a quarter of an hour without optimisation.
const std::size_t draws = std::min<std::size_t>(test::repeated(100'000), 100'000);

std::vector<drafted_setting> settings() {
  return {
      {.name = "temperature", .sampling = {.temperature = 0.8F}},
      {.name = "penalties, a step ahead",
       .sampling = {.presence_penalty = 0.5F, .frequency_penalty = 0.7F, .repetition_penalty = 1.4F},
       .steps_in_flight = 2},
      {.name = "grammar", .sampling = {.temperature = 1.2F}, .has_grammar = true},
      {.name = "what pays", .sampling = {.temperature = 0.9F}, .adaptive = true},
      {.name = "everything",
       .sampling = {.temperature = 0.9F,
                    .top_p = 0.95F,
                    .top_k = 12,
                    .min_p = 0.01F,
                    .presence_penalty = 0.3F,
                    .logit_bias = {{2, 1.5F}, {20, -1.0F}}},
       .has_grammar = true,
       .vocab = 32,
       .length = 3,
       .joint = 2},
      {.name = "little room, some drafts forgotten",
       .sampling = {.top_k = 5},
       .steps_in_flight = 2,
       .num_blocks = 30,
       .forget_every = 3},
      {.name = "one token, a step ahead",
       .sampling = {.temperature = 0.9F},
       .steps_in_flight = 2,
       .num_draft_tokens = 1},
      {.name = "an end token, long drafts late",
       .sampling = {.temperature = 1.2F},
       .end_token = 6,
       .late_beyond = 2},
      {.name = "what pays, an end token, long drafts late",
       .sampling = {.temperature = 1.2F},
       .adaptive = true,
       .end_token = 6,
       .late_beyond = 2},
      {.name = "by either way", .sampling = {.top_p = 0.8F}, .method = rejection_method::automatic},
  };
}

std::size_t index_of(const std::vector<token_id>& text, std::int32_t vocab) {
  std::size_t index = 0;
  for (const token_id token : text)
    index = index * static_cast<std::size_t>(vocab) + static_cast<std::size_t>(token);
  return index;
}

text_space space_of(const drafted_setting& setting) {
  return {static_cast<std::size_t>(setting.vocab), static_cast<std::size_t>(setting.length),
          static_cast<std::size_t>(setting.joint)};
}

TEST(rejection, of_a_draft_models_drafts_follows_the_targets_distribution) {
  for (const drafted_setting& setting : settings()) {
    SCOPED_TRACE(setting.name);
    drafted_texts texts(setting);
    const std::vector<double> probabilities = texts.enumerate();
    std::vector<std::uint64_t> counts(probabilities.size());
    for (const auto& text : texts.draw(0, draws)) {
      ASSERT_EQ(text.size(), static_cast<std::size_t>(setting.length));
      ++counts[index_of(text, setting.vocab)];
    }
    expect_texts_fit(counts, probabilities, space_of(setting));
    const draft_counts drafts = texts.counts().drafts;
    EXPECT_GT(drafts.numbered.accepted, draws / 10);
    EXPECT_GT(drafts.numbered.tokens - drafts.numbered.accepted, draws / 10)
        << "the residual is hardly drawn from";
    if (setting.has_grammar && setting.length > 3) {
      EXPECT_GT(texts.num_cut(), draws / 100);
    }
    if (setting.late_beyond < 100) {
      EXPECT_GT(texts.num_late(), draws / 10);
    }
    if (setting.num_blocks < 100) {
      EXPECT_GT(texts.counts().preemptions, draws / 1000);
    }
  }
}

TEST(rejection, accepts_every_draft_of_an_equal_model) {
  drafted_texts texts({.name = "equal", .sampling = {.top_p = 0.9F}, .draft_language = 1});
  texts.draw(0, 1000);
  const draft_counts drafts = texts.counts().drafts;
  EXPECT_GT(drafts.numbered.tokens, 1000U);
  EXPECT_EQ(drafts.numbered.accepted, drafts.numbered.tokens);
  EXPECT_EQ(drafts.numbered.tokens, drafts.tokens);
}

TEST(rejection, of_one_token_at_a_time_is_behind_a_token_that_is_on_its_way_too) {
  for (const std::int32_t tokens : {1, 3}) {
    drafted_texts texts({.name = "equal",
                         .sampling = {.top_p = 0.9F},
                         .length = 9,
                         .draft_language = 1,
                         .steps_in_flight = 2,
                         .num_draft_tokens = tokens});
    texts.draw(0, 200);
    const draft_counts drafts = texts.counts().drafts;
    EXPECT_GT(drafts.numbered.tokens, 200U);
    EXPECT_EQ(drafts.numbered.accepted, drafts.numbered.tokens);
    EXPECT_LE(drafts.tokens, drafts.drafts * static_cast<std::uint64_t>(tokens));
  }
}

TEST(rejection, is_never_of_seeded_or_greedy_requests) {
  const drafted_setting seeded{.name = "seeded", .sampling = {.temperature = 0.9F}, .is_seeded = true};
  const drafted_setting greedy{.name = "greedy",
                               .sampling = {.temperature = 0.0F, .frequency_penalty = 0.8F}};
  for (drafted_setting setting : {seeded, greedy}) {
    SCOPED_TRACE(setting.name);
    drafted_texts drafted(setting);
    setting.has_draft_model = false;
    drafted_texts plain(setting);
    EXPECT_EQ(drafted.draw(7, 500), plain.draw(7, 500));
    EXPECT_GT(drafted.counts().drafts.tokens, 500U);
    EXPECT_EQ(drafted.counts().drafts.numbered.tokens, 0U);
  }
}

TEST(rejection, is_chosen_where_it_has_more_drafts_accepted) {
  drafted_texts texts(
      {.name = "auto", .sampling = {.temperature = 1.0F}, .method = rejection_method::automatic});
  texts.draw(0, 2000);
  const double by_rejection = texts.drafts().acceptance(draft_verification::rejection);
  const double by_same_draw = texts.drafts().acceptance(draft_verification::same_draw);
  EXPECT_GT(by_rejection, by_same_draw + 0.05)
      << "the smaller of two probabilities is no less than their overlap";
  const draft_counts before = texts.counts().drafts;
  texts.draw(2000, 2000);
  const draft_counts after = texts.counts().drafts;
  const auto all = static_cast<double>(after.tokens - before.tokens);
  const double share = static_cast<double>(after.numbered.tokens - before.numbered.tokens) / all;
  EXPECT_GT(share, 0.85);
  EXPECT_LT(share, 0.99) << "the other way is tried now and then";
}

}  // namespace
}  // namespace troupe
