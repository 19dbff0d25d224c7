#include "kernels/cuda/sampling/sampling.hpp"

#include "runtime/executor_cuda/kernel_checks/sampling_cases.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/runtime/sampling/logits_fixture.hpp"

namespace troupe {
namespace {

using test::sampling_case;

class sampling : public test::cuda_kernels {
 protected:
  static void expect_the_hosts_tokens(const std::vector<sampling_case>& cases, std::uint64_t seed) {
    const auto expected = test::sample_on_host(cases);
    const auto tokens = test::sample_on_device(cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const sampling_params& params = *cases[i].row.sampling;
      EXPECT_EQ(tokens[i], expected[i])
          << "seed " << seed + i << ", vocabulary " << cases[i].logits.size() << ", temperature "
          << params.temperature << ", top_k " << params.top_k << ", top_p " << params.top_p << ", min_p "
          << params.min_p;
    }
  }

  template <class Make>
  static void expect_the_hosts_tokens_of(std::uint64_t seed, std::size_t rows, std::size_t vocab, Make make) {
    std::vector<sampling_case> cases;
    for (std::size_t i = 0; i < rows; ++i) cases.push_back(make(seed + i, vocab));
    expect_the_hosts_tokens(cases, seed);
  }

  static sampling_case make_case(std::vector<float> logits, sampling_params params) {
    sampling_case made;
    made.logits = std::move(logits);
    made.row = row_for(std::move(params), 17);
    return made;
  }
};

TEST_F(sampling, draws_the_hosts_tokens_for_any_parameters_and_logits) {
  std::uint64_t seed = 1;
  for (const auto& [vocab, rows] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 4}, {3, 8}, {31, 12}, {100, 12}, {500, 12}, {1500, 8}, {4097, 6}, {9000, 4}}) {
    expect_the_hosts_tokens_of(seed, rows, vocab, test::random_case);
    seed += rows;
  }
}

TEST_F(sampling, draws_the_hosts_tokens_of_a_large_vocabulary) {
  const auto logits = random_logits(5, 151'936, 3.0F);
  std::vector<sampling_case> cases;
  sampling_params params;
  for (const float temperature : {0.0F, 1.0F}) {
    params.temperature = temperature;
    cases.push_back(make_case(logits, params));
  }
  params.top_p = 0.95F;
  cases.push_back(make_case(logits, params));
  params.top_k = 20;
  cases.push_back(make_case(logits, params));
  params.top_p = 0.0F;  // draws nothing
  cases.push_back(make_case(logits, params));
  expect_the_hosts_tokens(cases, 0);
}

// More candidates than shared memory holds, and limits that cut among equals, also across slices.
TEST_F(sampling, draws_the_hosts_tokens_where_very_many_logits_are_equal) {
  std::vector<sampling_case> cases;
  for (const float grid : {0.0F, 2.0F}) {
    const auto logits = random_logits(6, 9'500, 0.5F, grid);
    sampling_params params;
    params.top_k = 700;
    cases.push_back(make_case(logits, params));
    params.top_k = 9'000;
    params.top_p = 0.8F;
    cases.push_back(make_case(logits, params));
  }
  sampling_params params;
  params.top_p = 0.8F;
  cases.push_back(make_case(std::vector<float>(9'500, 1.0F), params));
  expect_the_hosts_tokens(cases, 0);
}

// Equal weights reach top_p of all exactly: the last of them that is kept shows.
TEST_F(sampling, keeps_as_many_equal_logits_as_the_host) {
  std::vector<sampling_case> cases;
  for (const float top_p : {0.125F, 0.25F, 0.5F, 0.6F, 0.75F}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      sampling_params params;
      params.seed = seed;
      params.top_p = top_p;
      cases.push_back(make_case(std::vector<float>(8, 1.0F), params));
    }
  }
  expect_the_hosts_tokens(cases, 0);
}

TEST_F(sampling, verifies_drafts_as_the_host_does) {
  std::uint64_t seed = 10'000;
  for (const auto& [vocab, rows] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1, 3}, {3, 8}, {40, 16}, {700, 8}, {4500, 4}}) {
    expect_the_hosts_tokens_of(seed, rows, vocab, test::random_drafted_case);
    seed += rows;
  }
}

TEST_F(sampling, leaves_what_a_draft_was_drawn_from_as_the_host_does) {
  sampler_scratch scratch;
  for (const std::size_t vocab : {2, 50, 700, 4500}) {
    std::vector<sampling_case> cases;
    for (std::uint64_t seed = 20'000; seed < 20'008; ++seed) {
      cases.push_back(test::random_case(seed + vocab, vocab));
      cases.back().is_draft = seed % 4 != 0;
    }
    std::vector<kept_distribution> kept;
    EXPECT_EQ(test::sample_on_device(cases, nullptr, &kept), test::sample_on_host(cases));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      kept_distribution expected;
      const auto& [logits, row, end_tokens, mask, draft, drafted, keeps_logits, is_draft] = cases[i];
      if (is_draft) expected.assign(compute_distribution(logits, row, end_tokens, scratch, mask));
      EXPECT_EQ(kept[i].ids, expected.ids) << vocab << " " << i;
      EXPECT_EQ(kept[i].weights, expected.weights) << vocab << " " << i;
    }
  }
}

// A token that is nearly sure before many of some steps of 2^-33 each: where the limit of top-p falls,
// weights are rounded by up to a tenth.
TEST_F(sampling, cuts_a_tail_of_the_least_weights_as_the_host_does) {
  sampler_scratch scratch;
  std::mt19937 random(11);
  for (const auto& [steps, spread, top_p] : std::vector<std::tuple<double, float, float>>{
           {8.6, 0.0F, 0.99999F}, {383.55, 0.0F, 0.9999F}, {5.0, 1.5F, 0.99999F}, {60.0, 2.0F, 0.99999F}}) {
    std::normal_distribution<float> around(static_cast<float>(std::log(std::ldexp(steps, -33))), spread);
    std::vector<float> logits(20'000);
    for (float& logit : logits) logit = spread == 0 ? around.mean() : around(random);
    logits[10'000] = 0.0F;
    sampling_params params;
    params.top_p = top_p;
    sampling_case tail = make_case(logits, params);
    tail.is_draft = true;
    std::vector<kept_distribution> kept;
    EXPECT_EQ(test::sample_on_device({tail}, nullptr, &kept), test::sample_on_host({tail}));
    kept_distribution expected;
    expected.assign(compute_distribution(logits, tail.row, {}, scratch, {}));
    EXPECT_GT(expected.ids.size(), 1U);
    EXPECT_LT(expected.ids.size(), logits.size());
    EXPECT_EQ(kept[0].ids, expected.ids) << steps << " steps, spread " << spread;
    EXPECT_EQ(kept[0].weights, expected.weights) << steps << " steps, spread " << spread;
  }
}

TEST_F(sampling, gives_a_row_the_same_token_in_any_company) {
  std::vector<sampling_case> cases;
  for (std::uint64_t seed = 500; seed < 505; ++seed) cases.push_back(test::random_case(seed, 5000));
  const auto together = test::sample_on_device(cases);
  for (std::size_t i = 0; i < cases.size(); i += 2)
    EXPECT_EQ(test::sample_on_device({cases[i]})[0], together[i]);
}

TEST_F(sampling, leaves_the_logits_of_a_row_that_keeps_them) {
  std::vector<sampling_case> cases;
  for (std::uint64_t seed = 600; seed < 608; ++seed) cases.push_back(test::random_case(seed, 200));
  std::vector<std::vector<float>> left;
  test::sample_on_device(cases, &left);
  bool changed = false;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool same = std::equal(left[i].begin(), left[i].end(), cases[i].logits.begin(),
                                 [](float a, float b) { return a == b || (a != a && b != b); });
    EXPECT_TRUE(same || !cases[i].keeps_logits) << i;
    changed |= !same;
  }
  EXPECT_TRUE(changed) << "no row was processed in place";
}

}  // namespace
}  // namespace troupe
