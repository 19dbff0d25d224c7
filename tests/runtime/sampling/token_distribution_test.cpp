// What tokens are drawn from, against the documented processing in double precision with full sorts.
#include "runtime/sampling/token_distribution.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/sampling/row_math.hpp"
#include "runtime/token_bits.hpp"
#include "tests/runtime/sampling/logits_fixture.hpp"

namespace troupe {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
constexpr std::size_t size = 40;
const std::vector<token_id> end_tokens{6};

sample_row row_with(const sampling_params& params) {
  auto row = row_for(params, 9);
  row.num_generated = 3;
  row.history = {1, 2, 3, 3, 17, 17, 30};
  row.prompt_length = 4;
  return row;
}

std::vector<sampling_params> processed_mixes() {
  return {{.temperature = 0.7F},
          {.top_k = 7},
          {.top_p = 0.8F},
          {.min_p = 0.1F},
          {.presence_penalty = 0.7F, .frequency_penalty = -0.4F, .repetition_penalty = 1.3F},
          {.logit_bias = {{3, 2.0F}, {5, -4.0F}, {99, 5.0F}}},
          {.min_tokens = 4, .stop_token_ids = {2, 8}},
          {.min_tokens = 4,
           .temperature = 1.4F,
           .top_p = 0.9F,
           .top_k = 20,
           .min_p = 0.02F,
           .frequency_penalty = 0.3F,
           .stop_token_ids = {8},
           .logit_bias = {{12, 1.0F}}}};
}

std::vector<float> process(std::vector<float> logits, const sample_row& row) {
  const sampling_params& params = *row.sampling;
  if (row.num_generated < params.min_tokens) {
    for (const token_id id : end_tokens) logits[static_cast<std::size_t>(id)] = minus_infinity;
    for (const token_id id : params.stop_token_ids) logits[static_cast<std::size_t>(id)] = minus_infinity;
  }
  for (const auto& [id, bias] : params.logit_bias) {
    if (static_cast<std::size_t>(id) < logits.size()) logits[static_cast<std::size_t>(id)] += bias;
  }
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto id = static_cast<token_id>(i);
    const auto output = row.history.begin() + row.prompt_length;
    if (std::find(row.history.begin(), row.history.end(), id) != row.history.end())
      logits[i] =
          logits[i] > 0 ? logits[i] / params.repetition_penalty : logits[i] * params.repetition_penalty;
    const auto count = static_cast<float>(std::count(output, row.history.end(), id));
    if (count > 0) logits[i] -= count * params.frequency_penalty + params.presence_penalty;
  }
  return logits;
}

std::vector<double> to_probabilities(const token_distribution& distribution, std::size_t vocab_size) {
  std::vector<double> probabilities(vocab_size, 0.0);
  const double total = sum_weights(distribution.weights);
  for (std::size_t i = 0; i < distribution.weights.size(); ++i) {
    probabilities[static_cast<std::size_t>(distribution.id(i))] =
        static_cast<double>(distribution.weights[i]) / total;
  }
  return probabilities;
}

TEST(compute_distribution, gives_the_probabilities_that_the_parameters_ask_for) {
  sampler_scratch scratch;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto logits = random_logits(seed, size, 2.0F);
    const std::vector<std::uint32_t> mask{0xf0f1f2f3U * static_cast<std::uint32_t>(seed + 1) | 1U, 0xaaU};
    std::vector<float> masked(size);
    mask_row(logits, mask, masked.data());
    for (const sampling_params& mix : processed_mixes()) {
      const auto row = row_with(mix);
      const auto free = compute_distribution(logits, row, end_tokens, scratch);
      const auto expected = oracle_distribution(process(logits, row), mix);
      const auto got = to_probabilities(free, size);
      for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << i;

      const auto held = to_probabilities(compute_distribution(logits, row, end_tokens, scratch, mask), size);
      const auto expected_held = oracle_distribution(process(masked, row), mix);
      for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(held[i], expected_held[i], 1e-6) << i;
    }
  }
}

TEST(compute_distribution, has_ascending_ids_and_weights_whose_sums_are_exact) {
  sampler_scratch scratch;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto logits = random_logits(seed, 3000, 3.0F);
    for (const sampling_params& mix : processed_mixes()) {
      const auto found = compute_distribution(logits, row_with(mix), end_tokens, scratch);
      ASSERT_EQ(found.weights.size(), found.ids.empty() ? logits.size() : found.ids.size());
      ASSERT_TRUE(std::is_sorted(found.ids.begin(), found.ids.end()));
      ASSERT_GT(sum_weights(found.weights), 0.0);
      for (const float weight : found.weights) {
        ASSERT_TRUE(weight >= 0.0F && weight <= 1.0F);
        ASSERT_EQ(std::floor(weight / weight_step), weight / weight_step);
      }
    }
  }
}

TEST(compute_distribution, is_what_tokens_are_drawn_from) {
  sampler_scratch scratch;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto logits = random_logits(seed, 500, 2.0F);
    for (sampling_params mix : processed_mixes()) {
      mix.seed = seed;
      const auto row = row_with(mix);
      kept_distribution kept;
      kept.assign(compute_distribution(logits, row, end_tokens, scratch));
      EXPECT_EQ(std::count(kept.weights.begin(), kept.weights.end(), 0.0F), 0);
      EXPECT_EQ(draw_token(kept.view(), uniform(seed, 9)),
                sample_token(logits, row, end_tokens, scratch).token);
      EXPECT_EQ(draw_sample(kept.view(), row), sample_token(logits, row, end_tokens, scratch).token);
    }
  }
}

TEST(compute_distribution, without_a_choice_is_one_token) {
  sampler_scratch scratch;
  const auto only = [&](const std::vector<float>& logits, const sampling_params& params, std::uint32_t word) {
    const std::vector<std::uint32_t> mask{word};
    const auto found = compute_distribution(logits, row_for(params), {}, scratch,
                                            word == 0 ? std::span<const std::uint32_t>() : mask);
    EXPECT_EQ(found.weights.size(), 1U);
    EXPECT_EQ(found.weights[0], 1.0F);
    return found.id(0);
  };
  EXPECT_EQ(only({1.0F, 3.0F, 3.0F}, {.temperature = 0.0F}, 0), 1);
  EXPECT_EQ(only({1.0F, 3.0F, 3.0F}, {.temperature = 0.0F}, 4), 2);
  const std::vector<float> nothing(4, minus_infinity);
  for (const float temperature : {0.0F, 1.0F}) {
    EXPECT_EQ(only(nothing, {.temperature = temperature}, 0), 0);
    EXPECT_EQ(only(nothing, {.temperature = temperature}, 8), 3);
    EXPECT_EQ(only({}, {.temperature = temperature}, 0), 0);
  }
}

TEST(sample_token, verifies_a_draft_by_the_numbers_of_its_seed_and_position) {
  sampler_scratch scratch;
  int accepted = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto row = row_for({.top_p = 0.9F, .seed = seed, .logprobs = 2}, 12);
    const auto logits = random_logits(seed, 50, 2.0F);
    kept_distribution target;
    kept_distribution drafts;
    target.assign(compute_distribution(logits, row, {}, scratch));
    drafts.assign(compute_distribution(random_logits(seed + 1000, 50, 2.0F), row, {}, scratch));
    const drafted_token draft{draw_token(drafts.view(), uniform(seed, 12)), drafts.view()};
    const auto sampled = sample_token(logits, row, {}, scratch, {}, &draft);
    EXPECT_EQ(sampled.token, verify_draft(target.view(), draft, uniform(seed, 12, random_stream::accept),
                                          uniform(seed, 12, random_stream::residual)));
    EXPECT_EQ(sampled.logprobs->token, sampled.token);
    accepted += sampled.token == draft.token ? 1 : 0;
  }
  EXPECT_GT(accepted, 20);
  EXPECT_LT(accepted, 250);
}

}  // namespace
}  // namespace troupe
