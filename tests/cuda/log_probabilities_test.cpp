
#include "runtime/executor_cuda/kernel_checks/logprob_rows.hpp"
#include "runtime/executor_cuda/kernel_checks/sampling_cases.hpp"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

class log_probabilities_on_device : public test::cuda_kernels {};

TEST_F(log_probabilities_on_device, are_the_hosts_to_the_bit) {
  std::uint64_t seed = 3000;
  for (const std::size_t vocab : {1, 3, 40, 255, 256, 1000, 4099, 9001}) {
    const auto max_top = static_cast<std::int32_t>(std::min<std::size_t>(vocab, 21));
    std::vector<checks::logprob_case> rows;
    for (std::int32_t i = 0; i < 8; ++i) {
      const test::sampling_case made = test::random_case(seed++, vocab);
      const token_id token = i == 7 ? static_cast<token_id>(vocab) : test::sample_on_host({made}).front();
      rows.push_back({made.logits, made.mask, token, i % 2 == 0 ? max_top : i % max_top});
    }
    const auto found = checks::logprobs_on_device(rows, max_top);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const token_logprobs expected = checks::logprobs_on_host(rows[i]);
      EXPECT_EQ(found[i].logprob, expected.logprob) << vocab << " " << seed - 8 + i;
      EXPECT_EQ(found[i].rank, expected.rank) << vocab << " " << seed - 8 + i;
      if (i == 7) continue;  // no token of the vocabulary: the host looks no further
      EXPECT_EQ(found[i].top, expected.top) << vocab << " " << seed - 8 + i;
    }
  }
}

TEST_F(log_probabilities_on_device, count_what_is_no_number_as_minus_infinity) {
  constexpr float none = -std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<checks::logprob_case> rows;
  for (token_id token = 0; token < 6; ++token)
    rows.push_back({{nan, none, 1.0F, nan, none, 0.5F}, {}, token, 6});
  rows.push_back({std::vector<float>(6, nan), {}, 3, 6});
  rows.push_back({{1.0F, 2.0F, 3.0F, nan, 5.0F, 6.0F}, {0b001011}, 1, 6});
  const auto found = checks::logprobs_on_device(rows, 6);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(found[i].logprob, checks::logprobs_on_host(rows[i]).logprob) << i;
    EXPECT_EQ(found[i].rank, checks::logprobs_on_host(rows[i]).rank) << i;
    EXPECT_EQ(found[i].top, checks::logprobs_on_host(rows[i]).top) << i;
  }
}

TEST_F(log_probabilities_on_device, of_a_large_vocabulary_are_the_hosts) {
  const test::sampling_case made = test::random_case(77, 49'152);
  const std::vector<checks::logprob_case> rows{{made.logits, {}, 49'151, 5}, {made.logits, {}, 7, 0}};
  const auto found = checks::logprobs_on_device(rows, 20);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(found[i].logprob, checks::logprobs_on_host(rows[i]).logprob);
    EXPECT_EQ(found[i].rank, checks::logprobs_on_host(rows[i]).rank);
    EXPECT_EQ(found[i].top, checks::logprobs_on_host(rows[i]).top);
  }
}

}  // namespace
}  // namespace troupe
