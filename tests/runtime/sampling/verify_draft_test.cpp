#include "runtime/sampling/verify_draft.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/sampling/row_math.hpp"
#include "tests/runtime/sampling/logits_fixture.hpp"

namespace troupe {
namespace {

constexpr double almost_one = 1.0 - 0x1.0p-53;

// Random weights as weigh() gives them, some of them 0.
kept_distribution random_distribution(std::uint64_t seed, std::size_t size) {
  const auto logits = random_logits(seed, size, 2.0F, seed % 3 == 0 ? 0.5F : 0.0F);
  std::vector<float> weights(size);
  weigh(logits, row_max(logits), 1.0F, weights.data());
  for (std::size_t i = 0; i < size; ++i) {
    if (weights[i] < 1.0F && uniform(seed, 1000 + i) < 0.3) weights[i] = 0.0F;
  }
  kept_distribution kept;
  kept.assign({{}, weights});
  return kept;
}

double probability(const token_distribution& distribution, token_id token) {
  double weight = 0.0;
  for (std::size_t i = 0; i < distribution.weights.size(); ++i) {
    if (distribution.id(i) == token) weight += static_cast<double>(distribution.weights[i]);
  }
  return weight / sum_weights(distribution.weights);
}

// The probabilities of what verify_draft() returns for a draft drawn from its distribution: exact up to the
// grid on which both random numbers lie.
std::vector<double> law_of_sample(const token_distribution& target, const token_distribution& draft,
                                  std::size_t size) {
  constexpr int grid = 2000;
  std::vector<double> law(size, 0.0);
  for (std::size_t i = 0; i < draft.weights.size(); ++i) {
    const drafted_token drafted{draft.id(i), draft};
    const double q = probability(draft, drafted.token);
    int accepted = 0;
    for (int step = 0; step < grid; ++step) {
      accepted += verify_draft(target, drafted, (step + 0.5) / grid, 0.0) == drafted.token ? 1 : 0;
    }
    const double rate = static_cast<double>(accepted) / grid;
    law[static_cast<std::size_t>(drafted.token)] += q * rate;
    for (int step = 0; step < grid && accepted < grid; ++step) {
      const token_id token = verify_draft(target, drafted, almost_one, (step + 0.5) / grid);
      law[static_cast<std::size_t>(token)] += q * (1.0 - rate) / grid;
    }
  }
  return law;
}

TEST(verify_draft, gives_the_targets_probabilities_whatever_the_drafts) {
  constexpr std::size_t size = 9;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const auto p = random_distribution(seed, size);
    const auto q = random_distribution(seed + 100, size);
    const std::vector<token_id> one{static_cast<token_id>(seed % size)};
    const std::vector<float> certain{1.0F};
    for (const token_distribution& draft : {q.view(), p.view(), token_distribution{one, certain}}) {
      const auto law = law_of_sample(p.view(), draft, size);
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_NEAR(law[i], probability(p.view(), static_cast<token_id>(i)), 2e-3) << seed << " " << i;
      }
    }
  }
}

TEST(verify_draft, takes_the_draft_at_the_rate_of_the_two_probabilities) {
  const std::vector<float> p{1.0F, 0.5F, 0.5F};   // 1/2, 1/4, 1/4
  const std::vector<float> q{0.25F, 1.0F, 0.0F};  // 1/5, 4/5, 0
  for (const double u : {0.0, 0.3, almost_one}) {
    EXPECT_EQ(verify_draft({{}, p}, {0, {{}, q}}, u, 0.0), 0) << "more probable in the target";
  }
  const double rate = 0.25 / 0.8;
  EXPECT_EQ(verify_draft({{}, p}, {1, {{}, q}}, rate - 0x1.0p-53, 0.0), 1);
  EXPECT_EQ(verify_draft({{}, p}, {1, {{}, q}}, rate, 0.0), 0) << "u < p / q, not u <= p / q";
  // What is left is 3/10 of the first and 1/4 of the last: 6 to 5.
  EXPECT_EQ(verify_draft({{}, p}, {1, {{}, q}}, rate, 6.0 / 11.0 - 1e-15), 0);
  EXPECT_EQ(verify_draft({{}, p}, {1, {{}, q}}, rate, 6.0 / 11.0 + 1e-15), 2);
}

TEST(verify_draft, always_takes_what_was_drawn_from_the_target_itself_on_whatever_scale) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    auto p = random_distribution(seed, 500);
    for (float& weight : p.weights)
      weight = std::ceil(weight * 0x1.0p20F) * 0x1.0p-20F;  // so that halves are steps
    auto scaled = p;
    for (float& weight : scaled.weights) weight *= 0.5F;
    for (const auto& draft : {p.view(), scaled.view()}) {
      const token_id token = draw_token(draft, uniform(seed, 7));
      EXPECT_EQ(verify_draft(p.view(), {token, draft}, almost_one, 0.5), token);
      EXPECT_EQ(verify_draft(scaled.view(), {token, p.view()}, almost_one, 0.5), token);
    }
  }
}

TEST(verify_draft, tells_probabilities_apart_that_differ_by_one_step_of_a_weight) {
  std::vector<float> p(4000, 0x1.0p-10F);
  std::vector<float> q = p;
  q[17] += weight_step;
  p[3000] += weight_step;
  EXPECT_EQ(verify_draft({{}, p}, {17, {{}, q}}, 0.999, 0.5), 17);
  for (const double u : {0.0, 0.5, almost_one})
    EXPECT_EQ(verify_draft({{}, p}, {17, {{}, q}}, almost_one, u), 3000);
  EXPECT_EQ(verify_draft({{}, p}, {18, {{}, q}}, almost_one, 0.5), 18);
}

TEST(verify_draft, is_exact_for_the_largest_vocabulary_and_the_largest_weights) {
  std::vector<float> p(std::size_t{1} << 20U, 1.0F);
  const std::vector<float> q = p;
  p.front() = 0.0F;
  const auto last = static_cast<token_id>(p.size() - 1);
  EXPECT_EQ(verify_draft({{}, p}, {last, {{}, q}}, almost_one, 0.0), last);
  EXPECT_EQ(verify_draft({{}, p}, {0, {{}, q}}, 0.0, 0.0), 1);
  EXPECT_EQ(verify_draft({{}, p}, {0, {{}, q}}, 0.0, almost_one), last);
  // Every token but the first has gained the same.
  const auto middle = static_cast<token_id>(std::floor(0.3 * (static_cast<double>(p.size()) - 1.0))) + 1;
  EXPECT_EQ(verify_draft({{}, p}, {0, {{}, q}}, 0.0, 0.3), middle);
}

TEST(verify_draft, never_gives_back_a_rejected_draft_nor_what_the_target_does_not_hold) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const std::size_t size = 3 + seed % 30;
    const auto p = random_distribution(seed, size);
    const auto q = random_distribution(seed * 7 + 1, size);
    const token_id draft =
        seed % 2 == 0 ? draw_token(q.view(), uniform(seed, 1)) : static_cast<token_id>(seed % size);
    const double ratio = probability(p.view(), draft) / probability(q.view(), draft);
    for (const double u_accept : {0.0, 0.5, almost_one}) {
      for (const double u_residual : {0.0, uniform(seed, 2), almost_one}) {
        const token_id token = verify_draft(p.view(), {draft, q.view()}, u_accept, u_residual);
        EXPECT_GT(probability(p.view(), token), 0.0);
        if (u_accept > ratio + 1e-9) {
          EXPECT_NE(token, draft);
        } else if (u_accept < ratio - 1e-9) {
          EXPECT_EQ(token, draft);
        }
      }
    }
  }
}

TEST(verify_draft, of_disjoint_supports_draws_from_the_target) {
  const std::vector<token_id> even{0, 2, 4, 6};
  const std::vector<token_id> odd{1, 3, 5, 7};
  const std::vector<float> p{0.5F, 0.25F, 1.0F, 0.125F};
  const std::vector<float> q{1.0F, 0.25F, 0.5F, 0.125F};
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const double u = uniform(3, i);
    const token_id draft = draw_token({odd, q}, uniform(4, i));
    EXPECT_EQ(verify_draft({even, p}, {draft, {odd, q}}, uniform(5, i), u), draw_token({even, p}, u));
  }
}

TEST(verify_draft, of_a_greedy_target_takes_exactly_the_most_probable_token) {
  const std::vector<token_id> best{5};
  const std::vector<float> certain{1.0F};
  const auto q = random_distribution(1, 10);
  for (token_id draft = 0; draft < 12; ++draft) {
    const std::vector<token_id> only{draft};
    for (const token_distribution& distribution : {q.view(), token_distribution{only, certain}}) {
      for (const double u : {0.0, 0.5, almost_one}) {
        EXPECT_EQ(verify_draft({best, certain}, {draft, distribution}, u, u), 5);
      }
    }
  }
}

TEST(verify_draft, gives_a_token_of_the_target_also_for_a_draft_out_of_nowhere) {
  const std::vector<float> p{0.0F, 1.0F, 0.5F};
  for (const token_id draft : {0, 3, -1, 1 << 30}) {
    EXPECT_EQ(verify_draft({{}, p}, {draft, {{}, p}}, 0.0, 0.0), 1);
    EXPECT_EQ(verify_draft({{}, p}, {draft, {{}, p}}, almost_one, almost_one), 2);
    EXPECT_EQ(verify_draft({{}, p}, {draft, {}}, 0.0, 0.0), 1);
  }
}

}  // namespace
}  // namespace troupe
