// What a grammar's mask does to a row of logits.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "runtime/sampling/row_math.hpp"
#include "runtime/token_bits.hpp"
#include "tests/runtime/sampling/logits_fixture.hpp"

namespace troupe {
namespace {

std::vector<std::uint32_t> mask_with(const std::set<token_id>& tokens, std::size_t size) {
  std::vector<std::uint32_t> mask((size + 31) / 32);
  for (const token_id token : tokens) add_token(mask, token);
  return mask;
}

sampled_token sample_masked(const std::vector<float>& logits, const sample_row& row,
                            const std::set<token_id>& allowed, std::vector<token_id> end_tokens = {}) {
  sampler_scratch scratch;
  return sample_token(logits, row, end_tokens, scratch, mask_with(allowed, logits.size()));
}

TEST(mask_row, keeps_exactly_the_bits_whatever_the_sizes) {
  for (const std::size_t size : {1U, 31U, 32U, 33U, 100U, 1000U}) {
    const auto logits = random_logits(size, size, 3.0F);
    for (const std::size_t words : {std::size_t{0}, size / 64, (size + 31) / 32, size / 32 + 3}) {
      std::vector<std::uint32_t> mask(words);
      for (std::size_t w = 0; w < words; ++w)
        mask[w] = w % 3 == 0 ? 0U : w % 3 == 1 ? ~0U : 0x9e3779b9U * static_cast<std::uint32_t>(w + size);
      std::vector<float> out(size);
      mask_row(logits, mask, out.data());
      for (std::size_t i = 0; i < size; ++i)
        EXPECT_EQ(out[i], has_token(mask, static_cast<token_id>(i)) ? logits[i] : -infinity) << i;
    }
  }
}

TEST(weigh, of_a_masked_row_gives_the_same_bits_with_the_mask_as_without) {
  for (const std::size_t size : {1U, 31U, 32U, 33U, 100U, 1000U}) {
    const auto logits = random_logits(size, size, 3.0F);
    for (const std::size_t words : {std::size_t{0}, size / 64, (size + 31) / 32, size / 32 + 3}) {
      std::vector<std::uint32_t> mask(words);
      for (std::size_t w = 0; w < words; ++w)
        mask[w] = w % 3 == 0 ? 0U : w % 3 == 1 ? ~0U : 0x9e3779b9U * static_cast<std::uint32_t>(w + size);
      std::vector<float> masked(size), expected(size), weights(size, 7.0F);
      mask_row(logits, mask, masked.data());
      const float max = row_max(masked);
      if (max == -infinity) continue;
      weigh(masked, max, 0.7F, expected.data());
      weigh(masked, max, 0.7F, weights.data(), mask);
      EXPECT_EQ(weights, expected) << size << " " << words;
    }
  }
}

TEST(next_allowed, is_the_token_itself_or_the_next_one_around) {
  const auto mask = mask_with({3, 40, 95}, 96);
  EXPECT_EQ(next_allowed(mask, 3), 3);
  EXPECT_EQ(next_allowed(mask, 4), 40);
  EXPECT_EQ(next_allowed(mask, 41), 95);
  EXPECT_EQ(next_allowed(mask_with({3}, 96), 4), 3);
  EXPECT_EQ(next_allowed(mask_with({2}, 32), 3), 2);
  EXPECT_EQ(next_allowed({}, 7), 7);
  EXPECT_EQ(next_allowed(mask_with({}, 64), 7), 7);
}

TEST(masked_sampling, draws_what_the_allowed_tokens_alone_would_give) {
  const std::set<token_id> allowed{1, 5, 8, 30, 31, 32, 63, 99};
  for (const sampling_params& params : {sampling_params{.temperature = 0.0F},
                                        {.temperature = 1.3F},
                                        {.top_p = 0.7F},
                                        {.top_k = 3},
                                        {.min_p = 0.2F},
                                        {.repetition_penalty = 1.4F}}) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      sampling_params seeded = params;
      seeded.seed = seed;
      const auto logits = random_logits(seed, 100, 4.0F);
      auto without = logits;
      for (std::size_t i = 0; i < without.size(); ++i)
        if (!allowed.contains(static_cast<token_id>(i))) without[i] = -infinity;
      sample_row row = row_for(seeded);
      row.history = {1, 8, 50};
      sampler_scratch scratch;
      const token_id token = sample_masked(logits, row, allowed).token;
      EXPECT_TRUE(allowed.contains(token));
      EXPECT_EQ(token, sample_token(without, row, {}, scratch).token);
    }
  }
}

TEST(masked_sampling, wins_over_bias_and_minimum_length) {
  std::vector<float> logits(40, 0.0F);
  logits[7] = 50.0F;
  EXPECT_EQ(sample_masked(logits, row_for({.temperature = 0.0F, .logit_bias = {{9, 100.0F}}}), {3, 4}).token,
            3);
  EXPECT_EQ(sample_masked(logits, row_for({.temperature = 0.0F, .logit_bias = {{3, -100.0F}}}), {3}).token,
            3);
  sample_row young = row_for({.min_tokens = 5, .temperature = 0.0F});
  young.num_generated = 1;
  logits[2] = 10.0F;
  EXPECT_EQ(sample_masked(logits, young, {2, 3}, {2}).token, 3) << "the end waits while the text may go on";
  EXPECT_EQ(sample_masked(logits, young, {2}, {2}).token, 2) << "and is taken where nothing else is left";
}

TEST(masked_sampling, gives_an_allowed_token_also_where_no_logit_is_a_number) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float value : {nan, -infinity})
    for (const float temperature : {0.0F, 1.0F})
      EXPECT_EQ(
          sample_masked(std::vector<float>(70, value), row_for({.temperature = temperature}), {66, 68}).token,
          66);
}

TEST(masked_sampling, log_probabilities_are_those_of_the_allowed_tokens) {
  const std::vector<float> logits{5.0F, 1.0F, 1.0F, 9.0F};
  const auto sampled = sample_masked(logits, row_for({.temperature = 0.0F, .logprobs = 3}), {1, 2});
  EXPECT_EQ(sampled.token, 1);
  EXPECT_NEAR(sampled.logprobs->logprob, std::log(0.5), 1e-6);
  EXPECT_EQ(sampled.logprobs->rank, 1);
  EXPECT_EQ(sampled.logprobs->top[1].first, 2);
  EXPECT_NEAR(sampled.logprobs->top[1].second, std::log(0.5), 1e-6);
  EXPECT_EQ(sampled.logprobs->top[2].second, -9999.0F);
}

}  // namespace
}  // namespace troupe
