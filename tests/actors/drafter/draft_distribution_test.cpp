// Requests without a seed whose drafts the runner accepts or rejects by chance: what comes of them follows
// the target's distribution.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/drafting/draft_model.hpp"
#include "tests/actors/company_fixture.hpp"
#include "tests/runtime/sampling/goodness_of_fit_fixture.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/toy_device.hpp"

namespace troupe::test {
namespace {

constexpr std::int32_t vocab = 6;
constexpr std::int32_t length = 4;
constexpr std::int32_t at_once = 8;
constexpr std::size_t num_texts = 1296;  // vocab to the power of length
// Of two comparisons a normal number passes this by chance less than once in 100,000 runs.
constexpr double highest_score = 4.5;
constexpr double chance_of_passing = 3e-6;

kv_layout layout() {
  kv_layout out;
  out.block_size = 4;
  out.num_blocks = 200;
  return out;
}

company_setup setup_of(std::uint64_t draft_language) {
  company_setup setup;
  setup.max_num_queued_requests = 64;
  setup.max_steps_in_flight = 1;
  setup.adjust = [draft_language](supervisor_parts& parts) {
    parts.device.target = std::make_shared<toy_device>(layout(), toy_language(1, vocab));
    parts.limits.end_tokens = {};
    parts.drafts.emplace();
    parts.drafts->config.method = speculative_method::draft_model;
    parts.drafts->config.adaptive = false;
    draft_model_options options;
    options.max_rows = 64;
    options.max_sequences = 8;
    options.max_model_len = 128;
    options.vocab_size = vocab;
    options.rejection = rejection_method::probabilistic;
    parts.device.draft = std::make_shared<draft_model>(
        std::make_shared<toy_device>(layout(), toy_language(draft_language, vocab)), options);
  };
  return setup;
}

sampling_params sampling_of(std::uint64_t seed) {
  sampling_params out;
  out.temperature = 0.9F;
  out.max_tokens = length;
  out.ignore_eos = true;
  out.seed = seed;
  out.is_seeded = false;
  return out;
}

std::vector<double> probabilities_behind(token_id before, token_id last) {
  toy_language language(1, vocab);
  std::vector<double> all{1.0};
  std::vector<std::pair<token_id, token_id>> ends{{before, last}};
  sampler_scratch scratch;
  sample_row row;
  row.sampling = std::make_shared<const sampling_params>(sampling_of(0));
  for (std::int32_t i = 0; i < length; ++i) {
    std::vector<double> longer;
    std::vector<std::pair<token_id, token_id>> longer_ends;
    for (std::size_t text = 0; text < all.size(); ++text) {
      const auto& logits = language.logits_after(ends[text].first, ends[text].second);
      const token_distribution next = compute_distribution(logits, row, {}, scratch);
      double total = 0.0;
      for (const float weight : next.weights) total += static_cast<double>(weight);
      for (token_id token = 0; token < vocab; ++token) {
        longer.push_back(all[text] * static_cast<double>(next.weights[static_cast<std::size_t>(token)]) /
                         total);
        longer_ends.emplace_back(ends[text].second, token);
      }
    }
    all = std::move(longer);
    ends = std::move(longer_ends);
  }
  return all;
}

TEST(DraftDistribution, OfRequestsWithoutASeedIsTheTargets) {
  const auto draws = static_cast<std::size_t>(repeated(100'000));
  stage stage(setup_of(2));
  std::vector<std::uint64_t> counts(num_texts);
  for (std::size_t first = 0; first < draws; first += at_once) {
    std::vector<std::shared_ptr<client>> clients;
    for (std::size_t i = 0; i < at_once; ++i) clients.push_back(stage.ask("ab", sampling_of(first + i)));
    stage.run();
    for (const auto& who : clients) {
      ASSERT_EQ(who->tokens.size(), static_cast<std::size_t>(length));
      std::size_t text = 0;
      for (const token_id token : who->tokens) text = text * vocab + static_cast<std::size_t>(token);
      ++counts[text];
    }
  }
  const auto probabilities = probabilities_behind('a', 'b');
  EXPECT_LT(chi_square_score(counts, probabilities, static_cast<double>(draws)), highest_score);
  EXPECT_LT(total_variation(counts, probabilities, static_cast<double>(draws)),
            total_variation_bound(probabilities, static_cast<double>(draws), chance_of_passing));
  const double tokens = stage.metric("troupe_rejection_sampled_draft_tokens_total");
  const double accepted = stage.metric("troupe_rejection_sampled_accepted_tokens_total");
  EXPECT_GT(accepted, static_cast<double>(draws) / 4);
  EXPECT_GT(tokens - accepted, static_cast<double>(draws) / 4);
  stage.expect_idle();
}

TEST(DraftDistribution, OfAnEqualModelHasEveryDraftAccepted) {
  stage stage(setup_of(1));
  for (std::uint64_t seed = 0; seed < 50; ++seed) stage.ask("ab", sampling_of(seed));
  stage.run();
  const double tokens = stage.metric("troupe_rejection_sampled_draft_tokens_total");
  EXPECT_GT(tokens, 50);
  EXPECT_EQ(stage.metric("troupe_rejection_sampled_accepted_tokens_total"), tokens);
}

}  // namespace
}  // namespace troupe::test
