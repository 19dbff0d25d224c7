#include "runtime/sampling/sampler.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "tests/runtime/sampling/logits_fixture.hpp"

namespace troupe {
namespace {

token_id sample(const std::vector<float>& logits, const sample_row& row,
                std::vector<token_id> end_tokens = {}) {
  sampler_scratch scratch;
  return sample_token(logits, row, end_tokens, scratch).token;
}

std::vector<sampling_params> mixes() {
  return {{.temperature = 1.0F},
          {.temperature = 0.7F},
          {.temperature = 2.0F},
          {.top_p = 0.8F},
          {.top_k = 5},
          {.min_p = 0.1F},
          {.temperature = 0.9F, .top_p = 0.7F, .top_k = 8},
          {.temperature = 1.5F, .top_p = 0.9F, .top_k = 12, .min_p = 0.05F}};
}

TEST(sampler, greedy_takes_the_lowest_id_of_equal_logits) {
  EXPECT_EQ(sample({1.0F, 3.0F, 2.0F, 3.0F}, row_for({.temperature = 0.0F})), 1);
}

// The chi-square test of 20,000 draws, one per seed, against the exact probabilities. 4 + 3 sqrt(2 n) + n
// bounds the statistic of n degrees of freedom at about three standard deviations; draws are a fixed function
// of the seeds.
TEST(sampler, draws_follow_the_truncated_distribution) {
  const auto logits = random_logits(11, 20, 1.5F);
  constexpr int draws = 20000;
  for (const sampling_params& mix : mixes()) {
    const auto probabilities = oracle_distribution(logits, mix);
    std::vector<int> counts(logits.size(), 0);
    sampler_scratch scratch;
    sampling_params params = mix;
    for (int i = 0; i < draws; ++i) {
      params.seed = static_cast<std::uint64_t>(i);
      ++counts[static_cast<std::size_t>(sample_token(logits, row_for(params, 5), {}, scratch).token)];
    }
    double chi_square = 0.0;
    int freedom = -1;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (probabilities[i] == 0.0) {
        EXPECT_EQ(counts[i], 0) << "token " << i << " was truncated";
        continue;
      }
      ++freedom;
      chi_square += (counts[i] - draws * probabilities[i]) * (counts[i] - draws * probabilities[i]) /
                    (draws * probabilities[i]);
    }
    EXPECT_LT(chi_square, freedom + 3.0 * std::sqrt(2.0 * freedom) + 4.0);
  }
}

// Token by token: the drawn one is where the oracle's cumulated probability passes u, borders aside.
TEST(sampler, inverts_the_distribution_function_in_token_id_order) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const auto logits = random_logits(seed, 3000, 2.5F);
    for (sampling_params mix : mixes()) {
      mix.seed = seed;
      const auto row = row_for(mix, 9);
      const auto token = static_cast<std::size_t>(sample(logits, row));
      const auto probabilities = oracle_distribution(logits, mix);
      const double below = std::accumulate(probabilities.begin(),
                                           probabilities.begin() + static_cast<std::ptrdiff_t>(token), 0.0);
      const double u = uniform(seed, 9);
      EXPECT_GE(u, below - 1e-5);
      EXPECT_LE(u, below + probabilities[token] + 1e-5);
    }
  }
}

TEST(sampler, does_not_depend_on_what_its_work_space_held_before) {
  sampler_scratch used;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto logits = random_logits(seed, 100 + 200 * (seed % 3), 2.0F);
    for (sampling_params mix : mixes()) {
      mix.seed = seed;
      mix.frequency_penalty = seed % 2 == 0 ? 0.5F : 0.0F;
      mix.repetition_penalty = seed % 3 == 0 ? 1.3F : 1.0F;
      auto row = row_for(mix, 3);
      row.history = {1, 2, 3, 3, 50, 99, 99};
      row.prompt_length = 3;
      EXPECT_EQ(sample_token(logits, row, {}, used).token, sample(logits, row));
    }
  }
}

// Tokens of fixed seeds are a promise to clients: the sum over many draws, from logits that any machine makes
// alike.
TEST(sampler, draws_what_it_has_always_drawn) {
  std::uint64_t sum = 0;
  sampler_scratch scratch;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<float> logits(300 + 700 * (seed % 5));
    for (std::size_t i = 0; i < logits.size(); ++i)
      logits[i] = static_cast<float>(std::floor(4096.0 * uniform(seed, i))) / 512.0F;
    for (sampling_params mix : mixes()) {
      mix.seed = seed;
      mix.frequency_penalty = seed % 4 == 1 ? 0.5F : 0.0F;
      auto row = row_for(mix, 4);
      row.history = {1, 7, 7, 20};
      const std::vector<std::uint32_t> mask(seed % 3 == 0 ? logits.size() / 32 : 0, 0x5a5a5a5aU);
      sum = sum * 1099511628211U +
            static_cast<std::uint64_t>(sample_token(logits, row, {}, scratch, mask).token);
    }
  }
  EXPECT_EQ(sum, 4248586383824655703U);
}

TEST(sampler, a_top_k_of_the_whole_vocabulary_or_none_keeps_all) {
  const auto logits = random_logits(5, 50, 1.0F);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const token_id all = sample(logits, row_for({.seed = seed}));
    for (const std::int32_t k : {-1, 0, 50, 51, std::numeric_limits<std::int32_t>::max()}) {
      EXPECT_EQ(sample(logits, row_for({.top_k = k, .seed = seed})), all);
    }
  }
}

TEST(sampler, top_k_of_one_is_greedy) {
  const auto logits = random_logits(6, 5000, 1.0F, 0.5F);
  const token_id greedy = sample(logits, row_for({.temperature = 0.0F}));
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(sample(logits, row_for({.top_k = 1, .seed = seed})), greedy);
    for (const float top_p : {1e-9F, 0.0F})
      EXPECT_EQ(sample(logits, row_for({.temperature = 2.0F, .top_p = top_p, .seed = seed})), greedy);
  }
}

TEST(sampler, a_min_p_of_one_keeps_the_greatest_and_what_equals_it) {
  const std::vector<float> logits = {0.0F, 2.0F, 1.999F, 2.0F};
  std::set<token_id> drawn;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    drawn.insert(sample(logits, row_for({.min_p = 1.0F, .seed = seed})));
  }
  EXPECT_EQ(drawn, (std::set<token_id>{1, 3}));
}

// The penalties as their documentation states them, in double precision.
TEST(sampler, penalties_change_logits_as_documented) {
  const std::size_t size = 30;
  const std::vector<token_id> history = {3, 3, 4, 5, 6, 6, 6, 3, 29};
  const std::size_t prompt = 4;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto logits = random_logits(seed, size, 2.0F);
    sampling_params params{.temperature = 0.0F,
                           .presence_penalty = static_cast<float>(uniform(seed, 1) * 4.0 - 2.0),
                           .frequency_penalty = static_cast<float>(uniform(seed, 2) * 4.0 - 2.0),
                           .repetition_penalty = static_cast<float>(uniform(seed, 3) * 2.0 + 0.1)};
    std::vector<float> expected = logits;
    const std::set<token_id> seen(history.begin(), history.end());
    for (const token_id id : seen) {
      float& logit = expected[static_cast<std::size_t>(id)];
      logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
      const auto count = std::count(history.begin() + static_cast<std::ptrdiff_t>(prompt), history.end(), id);
      if (count > 0) {
        logit -= static_cast<float>(count) * params.frequency_penalty + params.presence_penalty;
      }
    }
    auto row = row_for(params);
    row.history = history;
    row.prompt_length = static_cast<std::int32_t>(prompt);
    EXPECT_EQ(static_cast<std::size_t>(sample(logits, row)), descending(expected)[0]) << seed;
  }
}

TEST(sampler, logit_bias_moves_the_choice_and_ignores_ids_outside) {
  const std::vector<float> logits = {0.0F, 1.0F, 2.0F};
  sampling_params params{.temperature = 0.0F, .logit_bias = {{0, 5.0F}, {7, 100.0F}, {-1, 100.0F}}};
  EXPECT_EQ(sample(logits, row_for(params)), 0);
  params.logit_bias = {{2, -100.0F}};
  EXPECT_EQ(sample(logits, row_for(params)), 1);
}

TEST(sampler, end_and_stop_tokens_are_masked_before_min_tokens_and_free_after) {
  const std::vector<float> logits = {0.0F, 1.0F, 2.0F, 3.0F};
  for (const float temperature : {0.0F, 0.01F}) {
    auto row = row_for({.min_tokens = 2, .temperature = temperature, .stop_token_ids = {2}});
    for (row.num_generated = 0; row.num_generated < 2; ++row.num_generated) {
      EXPECT_EQ(sample(logits, row, {3}), 1) << row.num_generated;
    }
    EXPECT_EQ(sample(logits, row, {3}), 3);
  }
}

TEST(sampler, nan_counts_as_minus_infinity) {
  const std::vector<float> logits = {nan, 1.0F, nan, -infinity, 0.5F};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (sampling_params mix : mixes()) {
      mix.seed = seed;
      mix.top_k = mix.top_k > 0 ? 3 : 0;
      const token_id token = sample(logits, row_for(mix));
      EXPECT_TRUE(token == 1 || token == 4) << token;
    }
  }
}

TEST(sampler, rows_without_a_finite_logit_give_a_defined_token) {
  for (const sampling_params& mix : mixes()) {
    EXPECT_EQ(sample(std::vector<float>(100, nan), row_for(mix)), 0);
    EXPECT_EQ(sample(std::vector<float>(100, -infinity), row_for(mix)), 0);
    const token_id token = sample({0.0F, infinity, 3.0F, infinity}, row_for(mix));
    EXPECT_TRUE(token == 1 || token == 3) << token;
    EXPECT_EQ(sample({}, row_for(mix)), 0);
  }
}

TEST(sampler, log_probabilities_are_those_of_the_raw_logits) {
  const std::vector<float> logits = {0.0F, 1.0F, 2.0F};
  sampler_scratch scratch;
  const auto row = row_for({.temperature = 0.0F, .logprobs = 1, .logit_bias = {{0, 50.0F}}});
  const sampled_token sampled = sample_token(logits, row, {}, scratch);
  ASSERT_EQ(sampled.token, 0);
  ASSERT_TRUE(sampled.logprobs);
  EXPECT_NEAR(sampled.logprobs->logprob, -2.4076059, 1e-6);
  EXPECT_EQ(sampled.logprobs->rank, 3);
  ASSERT_EQ(sampled.logprobs->top.size(), 1U);
  EXPECT_EQ(sampled.logprobs->top[0].first, 2);
  EXPECT_FALSE(sample_token(logits, row_for({}), {}, scratch).logprobs);
}

}  // namespace
}  // namespace troupe
