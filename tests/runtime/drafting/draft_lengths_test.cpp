#include "runtime/drafting/draft_lengths.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/support/dice.hpp"
#include "tests/support/seeds.hpp"

namespace troupe {
namespace {

using drafts = std::vector<std::vector<float>>;

draft_lengths choose(const drafts& probabilities, const step_load& load, const step_costs& costs) {
  const std::vector<std::span<const float>> views(probabilities.begin(), probabilities.end());
  draft_lengths out;
  choose_draft_lengths(views, load, costs, out);
  return out;
}

double accepted(const drafts& probabilities, const std::vector<std::int32_t>& lengths) {
  double sum = 0.0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    double product = 1.0;
    for (std::int32_t k = 0; k < lengths[i]; ++k)
      sum += product *= static_cast<double>(probabilities[i][static_cast<std::size_t>(k)]);
  }
  return sum;
}

// Tokens per time; below 0 where such a step cannot be.
double rate(const drafts& probabilities, const std::vector<std::int32_t>& lengths, const step_load& load,
            const step_costs& costs) {
  const std::int32_t base = load.decode_rows + load.other_rows;
  const std::int32_t drafted = std::accumulate(lengths.begin(), lengths.end(), 0);
  const auto cost = costs.cost(base + drafted);
  if (!cost || (drafted > 0 && base + drafted > load.max_rows)) return -1.0;
  const double tokens = static_cast<double>(base) + accepted(probabilities, lengths) / (1.0 + load.margin);
  return tokens / (load.overhead + (drafted > 0 ? load.draft_overhead : 0.0) + *cost);
}

double best_rate(const drafts& probabilities, const step_load& load, const step_costs& costs) {
  std::vector<std::int32_t> lengths(probabilities.size(), 0);
  double best = -1.0;
  while (true) {
    best = std::max(best, rate(probabilities, lengths, load, costs));
    std::size_t i = 0;
    while (i < lengths.size() && ++lengths[i] > static_cast<std::int32_t>(probabilities[i].size()))
      lengths[i++] = 0;
    if (i == lengths.size()) return best;
  }
}

TEST(draft_lengths, no_other_choice_promises_more_tokens_per_time) {
  const test::seed_range seeds = test::seeds_to_run(1500);
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    dice random(seed);
    drafts probabilities(static_cast<std::size_t>(random.pick(0, 4)));
    for (auto& each : probabilities) {
      each.resize(static_cast<std::size_t>(random.pick(0, 4)));
      for (float& probability : each) probability = static_cast<float>(random.pick(0, 20)) / 20.0F;
    }
    step_load load;
    load.decode_rows = static_cast<std::int32_t>(probabilities.size()) + random.pick(0, 2);
    load.other_rows = random.pick(0, 3);
    load.max_rows = random.pick(1, 20);
    load.overhead = random.pick(0, 20);
    load.margin = random.pick(0, 10) / 20.0;
    load.draft_overhead = random.pick(0, 20);
    step_costs costs;  // neither convex nor concave
    for (int i = random.pick(1, 8); i > 0; --i) costs.measured(random.pick(1, 24), random.pick(10, 100));

    const draft_lengths chosen = choose(probabilities, load, costs);
    ASSERT_EQ(chosen.lengths.size(), probabilities.size());
    ASSERT_EQ(chosen.num_drafted, std::accumulate(chosen.lengths.begin(), chosen.lengths.end(), 0));
    ASSERT_NEAR(chosen.expected_accepted, accepted(probabilities, chosen.lengths), 1e-9);
    const double best = best_rate(probabilities, load, costs);
    if (!costs.cost(load.decode_rows + load.other_rows)) {
      ASSERT_EQ(chosen.num_drafted, 0) << "seed " << seed;
    } else {
      ASSERT_NEAR(rate(probabilities, chosen.lengths, load, costs), best, 1e-12) << "seed " << seed;
    }
  }
}

step_costs linear(double fixed, double per_row) {
  step_costs costs;
  for (const std::int32_t rows : {1, 64}) costs.measured(rows, fixed + per_row * rows);
  return costs;
}

TEST(draft_lengths, go_where_the_rows_are_worth_most) {
  const drafts probabilities{{0.9F, 0.9F, 0.9F}, {0.3F, 0.3F}, {0.9F, 0.1F}};
  const draft_lengths chosen = choose(probabilities, {3, 0, 6, 0.0, 0.0}, linear(10.0, 0.1));
  EXPECT_EQ(chosen.lengths, (std::vector<std::int32_t>{2, 0, 1}));
}

TEST(draft_lengths, are_zero_where_rows_cost_what_they_yield) {
  // Without anything to share, a row must be as good as certain; the margin asks for more than that.
  EXPECT_EQ(choose({{0.99F}}, {1, 0, 64, 0.0, 0.05}, linear(0.0, 1.0)).num_drafted, 0);
  EXPECT_EQ(choose({{1.0F}}, {1, 0, 64, 0.0, 0.05}, linear(0.0, 1.0)).num_drafted, 0);
  EXPECT_EQ(choose({{0.99F}}, {1, 0, 64, 0.0, 0.05}, linear(9.0, 1.0)).num_drafted, 1);
}

TEST(draft_lengths, look_beyond_a_step_of_the_costs) {
  step_costs costs;  // the second row is dear, six more are nearly free
  costs.measured(1, 1.0);
  costs.measured(2, 2.0);
  costs.measured(8, 2.1);
  const drafts sure{{0.95F, 0.95F, 0.95F, 0.95F, 0.95F, 0.95F, 0.95F}};
  EXPECT_EQ(choose(sure, {1, 0, 2, 0.0, 0.0}, costs).num_drafted, 0);
  EXPECT_EQ(choose(sure, {1, 0, 8, 0.0, 0.0}, costs).num_drafted, 7);
}

TEST(draft_lengths, count_what_a_sequence_s_rows_take_beside) {
  const drafts sure{{0.95F, 0.95F, 0.95F}, {0.95F, 0.95F, 0.95F}};
  const std::vector<double> both{0.0, 0.0};
  const std::vector<double> second{0.0, 6.0};
  const auto load = [](const std::vector<double>& rows) {
    return step_load{.decode_rows = 2, .max_rows = 64, .row_costs = rows};
  };
  EXPECT_EQ(choose(sure, load(both), linear(10.0, 0.1)).lengths, (std::vector<std::int32_t>{3, 3}));
  EXPECT_EQ(choose(sure, load(second), linear(10.0, 0.1)).lengths, (std::vector<std::int32_t>{3, 0}));
  EXPECT_EQ(choose({{0.95F, 0.95F}}, load({12.0}), linear(10.0, 0.1)).num_drafted, 0);
}

TEST(draft_lengths, what_is_no_probability_is_not_drafted) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const drafts odd{{nan, 1.0F}, {-1.0F}, {}, {5.0F, 0.0F, 1.0F}};
  EXPECT_EQ(choose(odd, {4, 0, 64, 0.0, 0.0}, linear(10.0, 0.1)).lengths,
            (std::vector<std::int32_t>{0, 0, 0, 1}));
}

}  // namespace
}  // namespace troupe
