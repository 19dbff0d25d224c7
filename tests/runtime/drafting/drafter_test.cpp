#include "runtime/drafting/drafter.hpp"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/dice.hpp"
#include "tests/support/seeds.hpp"

namespace troupe {
namespace {

using tokens = std::vector<token_id>;

drafter_options with(speculative_method method) {
  drafter_options options;
  options.config.method = method;
  options.config.prompt_lookup_min = 2;
  return options;
}

void finish_work(drafter& drafts) {
  while (drafts.work()) {
  }
}

tokens numbers(token_id first, std::size_t count) {
  tokens out(count);
  for (token_id& token : out) token = first++;
  return out;
}

tokens draw(dice& random, std::size_t count, std::int32_t vocabulary) {
  tokens out(count);
  for (token_id& token : out) token = random.pick(0, vocabulary - 1);
  return out;
}

double expected(const draft& made) {
  double sum = 0.0;
  double product = 1.0;
  for (const float probability : made.probabilities) sum += product *= static_cast<double>(probability);
  return sum;
}

TEST(drafter, proposes_what_the_prompt_says) {
  for (const auto method : {speculative_method::ngram, speculative_method::suffix}) {
    drafter drafts(with(method));
    drafts.open(7, "", numbers(100, 40));
    drafts.append(7, numbers(105, 8));
    const draft made = drafts.propose(7);
    EXPECT_EQ(made.id, 7U);
    EXPECT_EQ(made.after, 48);
    ASSERT_GE(made.tokens.size(), 5U);
    EXPECT_EQ(made.tokens, numbers(113, made.tokens.size()));
    EXPECT_EQ(made.probabilities.size(), made.tokens.size());
  }
}

TEST(drafter, proposes_at_most_so_many_tokens) {
  drafter_options options = with(speculative_method::suffix);
  options.config.num_speculative_tokens = 3;
  drafter drafts(options);
  drafts.open(1, "", numbers(0, 100));
  drafts.append(1, numbers(10, 50));
  EXPECT_EQ(drafts.propose(1).tokens, numbers(60, 3));
}

// Those in front stand in places that a step in flight samples: nobody verifies them.
TEST(drafter, proposes_as_many_tokens_behind_those_that_are_on_their_way) {
  for (const auto method : {speculative_method::ngram, speculative_method::suffix}) {
    drafter_options options = with(method);
    options.config.num_speculative_tokens = 1;
    drafter drafts(options);
    drafts.open(1, "", numbers(0, 100));
    drafts.append(1, numbers(10, 5));
    EXPECT_EQ(drafts.propose(1).tokens, numbers(15, 1));
    drafts.append(1, numbers(15, 1), 2);
    const draft made = drafts.propose(1);
    EXPECT_EQ(made.tokens, numbers(16, 3));
    EXPECT_EQ(made.lead, 2);
    EXPECT_EQ(made.num_behind_lead(), 1);
  }
}

TEST(drafter, has_work_as_long_as_something_waits) {
  drafter_options options = with(speculative_method::suffix);
  options.work_tokens = 100;
  drafter drafts(options);
  EXPECT_FALSE(drafts.has_work());
  drafts.open(1, "", numbers(0, 250));
  EXPECT_TRUE(drafts.has_work());
  finish_work(drafts);
  EXPECT_FALSE(drafts.has_work());
  drafts.append(1, numbers(500, 3));
  EXPECT_FALSE(drafts.has_work()) << "a token of a running request is indexed at once";
  drafts.close(1);
  EXPECT_TRUE(drafts.has_work()) << "its answer is to be taken in";
  finish_work(drafts);
  EXPECT_FALSE(drafts.has_work());
}

TEST(drafter, knows_earlier_answers_of_the_same_tenant_and_of_no_other) {
  drafter drafts(with(speculative_method::suffix));
  drafts.open(1, "a", tokens{1, 2, 3});
  drafts.append(1, numbers(50, 30));
  drafts.close(1);
  finish_work(drafts);
  drafts.open(2, "a", tokens{9});
  drafts.open(3, "b", tokens{9});
  for (const request_id id : {request_id{2}, request_id{3}}) drafts.append(id, numbers(55, 4));
  EXPECT_EQ(drafts.propose(2).tokens, numbers(59, 4));
  EXPECT_TRUE(drafts.propose(3).tokens.empty());
}

TEST(drafter, an_answer_s_prompt_is_not_kept) {
  drafter drafts(with(speculative_method::suffix));
  drafts.open(1, "a", numbers(10, 30));
  drafts.append(1, tokens{1});
  drafts.close(1);
  finish_work(drafts);
  drafts.open(2, "a", numbers(12, 5));
  EXPECT_TRUE(drafts.propose(2).tokens.empty());
}

TEST(drafter, ignores_calls_about_requests_that_are_not_open) {
  drafter drafts({});
  drafts.append(5, tokens{1, 1, 1});
  drafts.close(5);
  EXPECT_TRUE(drafts.propose(5).tokens.empty());
  EXPECT_EQ(drafts.num_requests(), 0U);
  EXPECT_FALSE(drafts.work());
  drafts.open(5, "", tokens{1, 1, 1, 1});
  drafts.close(5);
  EXPECT_TRUE(drafts.propose(5).tokens.empty());
  EXPECT_EQ(drafts.num_tenants(), 0U);
}

TEST(drafter, a_long_prompt_is_indexed_piece_by_piece_and_not_drafted_from_before) {
  for (const auto method : {speculative_method::ngram, speculative_method::suffix}) {
    drafter_options options = with(method);
    options.work_tokens = 100;
    drafter drafts(options);
    tokens prompt;  // in which every piece ends with what has been seen before
    while (prompt.size() < 960) {
      const tokens block = numbers(0, 32);
      prompt.insert(prompt.end(), block.begin(), block.end());
    }
    drafts.open(1, "", prompt);
    drafts.append(1, tokens{0});
    int pieces = 0;
    do {
      EXPECT_TRUE(drafts.propose(1).tokens.empty());
      ++pieces;
    } while (drafts.work());
    EXPECT_EQ(pieces, 9);
    EXPECT_EQ(drafts.propose(1).tokens.at(0), 1);
  }
}

TEST(drafter, a_short_prompt_does_not_wait_for_a_long_one) {
  drafter_options options = with(speculative_method::suffix);
  options.work_tokens = 100;
  drafter drafts(options);
  drafts.open(1, "", numbers(0, 100000));
  drafts.open(2, "", numbers(0, 150));
  drafts.append(2, numbers(10, 5));
  drafts.work();
  drafts.work();
  EXPECT_FALSE(drafts.propose(2).tokens.empty());
}

TEST(drafter, probabilities_become_what_is_seen) {
  // Two of three times a phrase goes on in the usual way, then not at all for the rest of it.
  dice random(3);
  drafter drafts(with(speculative_method::suffix));
  tokens prompt;
  for (token_id i = 0; i < 8; ++i) {
    const tokens phrase = numbers(100 * i, 12);
    prompt.insert(prompt.end(), phrase.begin(), phrase.end());
  }
  drafts.open(1, "", prompt);
  double promised = 0.0;
  std::int32_t right = 0;
  std::int32_t proposed = 0;
  token_id fresh = 10000;
  for (int step = 0; step < 3000; ++step) {
    const token_id phrase = 100 * random.pick(0, 7);
    drafts.append(1, tokens{fresh++, phrase, phrase + 1});
    const draft made = drafts.propose(1);
    const bool as_usual = random.chance(66);
    const token_id next = as_usual ? phrase + 2 : fresh++;
    drafts.append(1, tokens{next});
    if (step < 1000 || made.tokens.empty()) continue;
    ++proposed;
    promised += static_cast<double>(made.probabilities[0]);
    right += made.tokens[0] == next ? 1 : 0;
  }
  ASSERT_GT(proposed, 1900);
  EXPECT_NEAR(promised / proposed, static_cast<double>(right) / proposed, 0.05);
}

TEST(drafter, what_comes_true_at_one_temperature_says_nothing_of_another) {
  const auto promised_to = [](drafter& drafts, request_id id, float temperature) {
    drafts.open(id, std::to_string(id), tokens{1, 2, 3, 1, 2}, temperature);
    return expected(drafts.propose(id));
  };
  drafter fresh(with(speculative_method::suffix));
  drafter disappointed(with(speculative_method::suffix));
  for (request_id id = 1; id <= 30; ++id) {
    promised_to(disappointed, id, 1.0F);
    disappointed.append(id, tokens{77});
    disappointed.close(id);
  }
  EXPECT_EQ(promised_to(disappointed, 100, 0.0F), promised_to(fresh, 100, 0.0F));
  EXPECT_LT(promised_to(disappointed, 101, 1.2F), 0.5 * promised_to(fresh, 101, 1.2F));
}

TEST(drafter, a_sequence_whose_drafts_never_come_true_promises_nothing_until_it_repeats_itself) {
  for (const auto method : {speculative_method::ngram, speculative_method::suffix}) {
    drafter drafts(with(method));
    // Every pair of tokens has been seen, what follows is always something else.
    const tokens pair{1, 2};
    drafts.open(1, "", pair);
    token_id fresh = 100;
    double promised = 1.0;
    for (int i = 0; i < 60; ++i) {
      drafts.append(1, tokens{fresh++, 1, 2});
      promised = expected(drafts.propose(1));
    }
    EXPECT_LT(promised, 0.1);
    const tokens phrase = numbers(50, 20);
    for (int i = 0; i < 4; ++i) {
      for (const token_id token : phrase) {
        drafts.append(1, std::span(&token, 1));
        drafts.propose(1);
      }
    }
    EXPECT_GT(expected(drafts.propose(1)), 2.0);
  }
}

TEST(drafter, forgets_the_tenants_unused_for_longest) {
  drafter_options options = with(speculative_method::suffix);
  options.max_tenants = 3;
  drafter drafts(options);
  for (request_id id = 0; id < 10; ++id) {
    drafts.open(id, "tenant " + std::to_string(id), tokens{});
    drafts.append(id, numbers(50, 20));
    drafts.close(id);
    finish_work(drafts);
    EXPECT_LE(drafts.num_tenants(), 3U);
  }
  drafts.open(20, "tenant 9", numbers(50, 4));
  EXPECT_FALSE(drafts.propose(20).tokens.empty());
  drafts.open(21, "tenant 1", numbers(50, 4));
  EXPECT_TRUE(drafts.propose(21).tokens.empty());
}

TEST(drafter, all_answers_together_take_no_more_than_allowed) {
  drafter_options options = with(speculative_method::suffix);
  options.max_cached_bytes = 100000;
  options.max_tenant_bytes = 60000;
  drafter drafts(options);
  dice random(1);
  // One with an open request may lose its answers too.
  drafts.open(1000, "tenant 0", tokens{1});
  for (request_id id = 0; id < 200; ++id) {
    drafts.open(id, "tenant " + std::to_string(id % 5), tokens{});
    drafts.append(id, draw(random, 40, 1000));
    drafts.close(id);
    finish_work(drafts);
    ASSERT_LE(drafts.cached_bytes(), options.max_cached_bytes + 20000);
  }
  EXPECT_GT(drafts.num_cached_requests(), 5U);
}

TEST(drafter, counts_what_it_proposes) {
  drafter drafts(with(speculative_method::suffix));
  drafts.open(1, "", tokens{1, 2, 3, 4, 5, 6, 1, 2, 3});
  finish_work(drafts);
  const std::size_t before = drafts.bytes();
  const std::size_t proposed = drafts.propose(1).tokens.size();
  ASSERT_GT(proposed, 0U);
  EXPECT_GE(drafts.bytes(), before + proposed * (sizeof(token_id) + sizeof(token_evidence)));
  drafts.close(1);
}

TEST(drafter, gives_up_answers_then_requests_that_have_not_run_then_those_unused_for_longest) {
  drafter_options options = with(speculative_method::suffix);
  options.config.suffix_decoding_max_cached_requests = 0;
  drafter drafts(options);
  const auto begin = [](drafter& tested, request_id id) {
    tested.open(id, "", numbers(static_cast<token_id>(1000 * id), 500));
    finish_work(tested);
  };
  begin(drafts, 0);
  const std::size_t one = drafts.bytes();
  options.max_bytes = 3 * one + one / 2;
  options.config.suffix_decoding_max_cached_requests = 10;
  drafter full(options);
  begin(full, 9);
  full.append(9, numbers(50'000, 400));
  full.close(9);
  finish_work(full);
  EXPECT_EQ(full.num_cached_requests(), 1U);
  for (const request_id id : {1, 2, 3}) {
    begin(full, id);
    full.append(id, tokens{5});
  }
  EXPECT_EQ(full.num_cached_requests(), 0U);
  EXPECT_EQ(full.num_requests(), 3U);
  EXPECT_EQ(full.num_forgotten_requests(), 0U);
  begin(full, 4);
  EXPECT_EQ(full.num_forgotten_requests(), 1U) << "the last that came has not run";
  full.append(1, numbers(1000, 4));
  for (int i = 0; i < 200; ++i) full.append(3, numbers(3000, 4));
  EXPECT_FALSE(full.propose(1).tokens.empty());
  full.append(2, numbers(2000, 4));
  EXPECT_FALSE(full.propose(2).tokens.empty());
  for (token_id i = 0; full.num_requests() == 3; ++i) {
    ASSERT_LT(i, 5000);
    full.append(2, tokens{100'000 + i});
    full.append(3, tokens{200'000 + i});
  }
  full.append(1, numbers(1000, 4));
  EXPECT_TRUE(full.propose(1).tokens.empty()) << "unused for longest";
  EXPECT_LE(full.bytes(), options.max_bytes);
}

// Any order of calls; a draft always continues what the request has.
TEST(drafter, any_order_of_calls_is_served) {
  const test::seed_range seeds = test::seeds_to_run(30);
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    dice random(seed);
    drafter_options options = with(random.one_of(
        std::vector{speculative_method::ngram, speculative_method::suffix, speculative_method::draft_model}));
    options.config.num_speculative_tokens = random.pick(1, 8);
    options.config.suffix_decoding_max_tree_depth = random.pick(2, 12);
    options.config.suffix_decoding_max_cached_requests = random.pick(0, 4);
    options.max_tenants = static_cast<std::size_t>(random.pick(0, 3));
    options.max_tenant_bytes = static_cast<std::size_t>(random.pick(0, 100000));
    options.max_cached_bytes = static_cast<std::size_t>(random.pick(0, 100000));
    const bool is_tight = random.chance(50);
    if (is_tight) options.max_bytes = static_cast<std::size_t>(random.pick(0, 60000));
    options.work_tokens = static_cast<std::size_t>(random.pick(1, 30));
    drafter drafts(options);
    std::map<request_id, std::int32_t> lengths;
    const std::int32_t alphabet = random.pick(2, 6);
    for (int step = 0; step < 600; ++step) {
      const auto id = static_cast<request_id>(random.pick(0, 5));
      const std::int32_t choice = random.pick(1, 100);
      if (choice <= 10) {
        const tokens prompt = draw(random, static_cast<std::size_t>(random.pick(0, 60)), alphabet);
        drafts.open(id, std::to_string(random.pick(0, 4)), prompt);
        lengths[id] = static_cast<std::int32_t>(prompt.size());
      } else if (choice <= 18) {
        drafts.close(id);
        lengths.erase(id);
      } else if (choice <= 55) {
        const tokens more = draw(random, static_cast<std::size_t>(random.pick(0, 9)), alphabet);
        drafts.append(id, more);
        if (lengths.contains(id)) lengths[id] += static_cast<std::int32_t>(more.size());
      } else if (choice <= 75) {
        drafts.work();
      } else {
        const draft made = drafts.propose(id);
        ASSERT_EQ(made.tokens.size(), made.probabilities.size());
        ASSERT_LE(made.tokens.size(), static_cast<std::size_t>(options.config.num_speculative_tokens));
        if (!lengths.contains(id)) {
          ASSERT_TRUE(made.tokens.empty());
          continue;
        }
        if (is_tight && made.tokens.empty()) continue;
        ASSERT_EQ(made.after, lengths[id]);
        for (const token_id token : made.tokens)
          ASSERT_TRUE(token >= 0 && token < alphabet) << "seed " << seed;
        for (const float probability : made.probabilities)
          ASSERT_TRUE(probability > 0.0F && probability < 1.0F);
      }
      if (!is_tight) {
        ASSERT_EQ(drafts.num_requests(), lengths.size());
      }
      ASSERT_LE(drafts.bytes(), options.max_bytes);
      ASSERT_LE(drafts.num_requests(), lengths.size());
    }
    finish_work(drafts);
    for (request_id id = 0; id < 6; ++id) drafts.close(id);
    if (options.config.method != speculative_method::suffix) {
      ASSERT_EQ(drafts.bytes(), 0U);
    }
  }
}

}  // namespace
}  // namespace troupe
