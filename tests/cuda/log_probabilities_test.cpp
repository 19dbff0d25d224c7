#include "kernels/cuda/log_probabilities.hpp"

#include "runtime/sampling/row_math.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/sampling_fixture.hpp"

namespace troupe {
namespace {

using kernels::cuda::logprob_row;

class log_probabilities_on_device : public test::cuda_kernels {
 protected:
  struct asked {
    std::vector<float> logits;
    std::vector<std::uint32_t> mask;
    token_id token;
    std::int32_t top;
  };

  static token_logprobs of_host(const asked& row) {
    std::vector<float> masked = row.logits;
    if (!row.mask.empty()) mask_row(row.logits, row.mask, masked.data());
    return log_probabilities(masked, row.token, row.top);
  }

  static std::vector<token_logprobs> of_device(const std::vector<asked>& rows, std::int32_t max_top) {
    const std::size_t vocab = rows.front().logits.size();
    const std::size_t stride = (vocab + 3) / 4 * 4;
    const std::size_t words = (vocab + 31) / 32;
    std::vector<float> logits(rows.size() * stride);
    std::vector<std::uint32_t> masks(rows.size() * words);
    std::vector<token_id> tokens;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::ranges::copy(rows[i].logits, logits.begin() + static_cast<std::ptrdiff_t>(i * stride));
      std::ranges::copy(rows[i].mask, masks.begin() + static_cast<std::ptrdiff_t>(i * words));
      tokens.push_back(rows[i].token);
    }
    const test::device_array<float> device_logits(logits);
    const test::device_array<std::uint32_t> device_masks(masks);
    const test::device_array<token_id> device_tokens(tokens);
    std::vector<logprob_row> device_rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      device_rows.push_back({.logits = device_logits.data() + i * stride,
                             .mask = rows[i].mask.empty() ? nullptr : device_masks.data() + i * words,
                             .token = device_tokens.data() + i,
                             .top = rows[i].top});
    }
    return run(device_rows, static_cast<std::int32_t>(vocab), max_top, tokens);
  }

 private:
  static std::vector<token_logprobs> run(const std::vector<logprob_row>& rows, std::int32_t vocab,
                                         std::int32_t max_top, const std::vector<token_id>& tokens) {
    const auto count = static_cast<std::int32_t>(rows.size());
    const std::size_t tops = rows.size() * static_cast<std::size_t>(max_top);
    const test::device_array<logprob_row> device_rows(rows);
    const test::device_array<std::byte> workspace(
        kernels::cuda::logprob_workspace_bytes(count, vocab, max_top));
    const test::device_array<float> logprobs(rows.size());
    const test::device_array<std::int32_t> ranks(rows.size());
    const test::device_array<std::int32_t> top_ids(tops + 1);
    const test::device_array<float> top_logprobs(tops + 1);
    kernels::cuda::compute_log_probabilities({.rows = device_rows.data(),
                                              .num_rows = count,
                                              .vocab = vocab,
                                              .max_top = max_top,
                                              .workspace = workspace.data(),
                                              .logprobs = logprobs.data(),
                                              .ranks = ranks.data(),
                                              .top_ids = top_ids.data(),
                                              .top_logprobs = top_logprobs.data()},
                                             nullptr);
    std::vector<token_logprobs> found(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      found[i].token = tokens[i];
      found[i].logprob = logprobs.read()[i];
      found[i].rank = ranks.read()[i];
      for (std::int32_t n = 0; n < rows[i].top; ++n) {
        const std::size_t at = i * static_cast<std::size_t>(max_top) + static_cast<std::size_t>(n);
        found[i].top.emplace_back(top_ids.read()[at], top_logprobs.read()[at]);
      }
    }
    return found;
  }
};

TEST_F(log_probabilities_on_device, are_the_hosts_to_the_bit) {
  std::uint64_t seed = 3000;
  for (const std::size_t vocab : {1, 3, 40, 255, 256, 1000, 4099, 9001}) {
    const auto max_top = static_cast<std::int32_t>(std::min<std::size_t>(vocab, 21));
    std::vector<asked> rows;
    for (std::int32_t i = 0; i < 8; ++i) {
      const test::sampling_case made = test::random_case(seed++, vocab);
      const token_id token = i == 7 ? static_cast<token_id>(vocab) : test::sample_on_host({made}).front();
      rows.push_back({made.logits, made.mask, token, i % 2 == 0 ? max_top : i % max_top});
    }
    const auto found = of_device(rows, max_top);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const token_logprobs expected = of_host(rows[i]);
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
  std::vector<asked> rows;
  for (token_id token = 0; token < 6; ++token)
    rows.push_back({{nan, none, 1.0F, nan, none, 0.5F}, {}, token, 6});
  rows.push_back({std::vector<float>(6, nan), {}, 3, 6});
  rows.push_back({{1.0F, 2.0F, 3.0F, nan, 5.0F, 6.0F}, {0b001011}, 1, 6});
  const auto found = of_device(rows, 6);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(found[i].logprob, of_host(rows[i]).logprob) << i;
    EXPECT_EQ(found[i].rank, of_host(rows[i]).rank) << i;
    EXPECT_EQ(found[i].top, of_host(rows[i]).top) << i;
  }
}

TEST_F(log_probabilities_on_device, of_a_large_vocabulary_are_the_hosts) {
  const test::sampling_case made = test::random_case(77, 49'152);
  const std::vector<asked> rows{{made.logits, {}, 49'151, 5}, {made.logits, {}, 7, 0}};
  const auto found = of_device(rows, 20);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(found[i].logprob, of_host(rows[i]).logprob);
    EXPECT_EQ(found[i].rank, of_host(rows[i]).rank);
    EXPECT_EQ(found[i].top, of_host(rows[i]).top);
  }
}

}  // namespace
}  // namespace troupe
