#include "kernels/cuda/sampling/draft_math.cuh"
#include "kernels/cuda/sampling/sampling_math.cuh"

#include "runtime/sampling/philox.hpp"
#include "runtime/sampling/row_math.hpp"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

using namespace kernels::cuda;

class sampling_math : public test::cuda_kernels {};

__global__ void weigh_all(const float* logits, int count, weighing weigh, float* weights) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    weights[i] = weigh.weight(logits[i]);
}

TEST_F(sampling_math, gives_the_hosts_weights_to_the_bit) {
  std::mt19937 random(71);
  // Most of them with large weights, which hide no bit by rounding to a step; and weights of all sizes.
  std::uniform_real_distribution<float> below(-8.0F, 0.0F);
  std::vector<float> logits(20'000);
  for (float& logit : logits) logit = below(random);
  logits[5] = -std::numeric_limits<float>::infinity();
  logits[6] = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = 7; i < 2'000; ++i) logits[i] = -0.02F * static_cast<float>(i);
  const float max = row_max(logits);
  for (const float temperature : {1.0F, 0.3F, 1.7F}) {
    std::vector<float> expected(logits.size());
    weigh(logits, max, 1.0F / temperature, expected.data());
    const test::device_array<float> device_logits(logits);
    const test::device_array<float> weights(logits.size());
    const weighing weighed{.max = max, .inverse_temperature = 1.0F / temperature, .min_p = 0.0F};
    TROUPE_LAUNCH(weigh_all, 1, 64, 0, nullptr, device_logits.data(), static_cast<int>(logits.size()),
                  weighed, weights.data());
    EXPECT_EQ(weights.read(), expected);
  }
}

__global__ void sum_all(const float* weights, int count, std::int64_t* sum) {
  std::uint32_t coarse = 0;
  std::uint32_t fine = 0;
  for (int i = 0; i < count; ++i) {
    const split_weight split(weights[i]);
    coarse += split.coarse;
    fine += split.fine;
  }
  *sum = steps_of_sums(coarse, fine);
}

TEST_F(sampling_math, sums_weights_exactly_in_two_words) {
  std::mt19937 random(72);
  for (const float least : {-24.0F, -3.0F, 0.0F}) {
    std::uniform_real_distribution<float> exponent(least, 0);
    std::vector<float> logits(4'096);
    for (float& logit : logits) logit = exponent(random);
    std::vector<float> weights(logits.size());
    weigh(logits, 0.0F, 1.0F, weights.data());
    const test::device_array<float> device_weights(weights);
    const test::device_array<std::int64_t> sum(1);
    TROUPE_LAUNCH(sum_all, 1, 1, 0, nullptr, device_weights.data(), static_cast<int>(weights.size()),
                  sum.data());
    EXPECT_EQ(static_cast<double>(sum.read()[0]) * 0x1.0p-33, sum_weights(weights));
  }
}

__global__ void draw_numbers(std::uint64_t seed, std::uint64_t* bits) {
  for (std::uint32_t stream = 0; stream < 3; ++stream)
    bits[threadIdx.x * 3 + stream] = uniform_bits(seed, std::uint64_t{threadIdx.x} << threadIdx.x,
                                                  static_cast<kernels::cuda::random_stream>(stream));
}

TEST_F(sampling_math, gives_the_hosts_random_numbers) {
  const test::device_array<std::uint64_t> bits(32 * 3);
  TROUPE_LAUNCH(draw_numbers, 1, 32, 0, nullptr, 0x123456789ABCDEFULL, bits.data());
  const auto drawn = bits.read();
  for (std::uint64_t i = 0; i < 96; ++i) {
    const auto stream = static_cast<troupe::random_stream>(i % 3);
    EXPECT_EQ(static_cast<double>(drawn[i]) * 0x1.0p-53,
              uniform(0x123456789ABCDEFULL, (i / 3) << (i / 3), stream));
  }
}

struct share_case {
  std::uint64_t bits;
  std::uint64_t high;  // of the amount
  std::uint64_t low;
};

__global__ void take_shares(const share_case* cases, std::uint64_t* shares) {
  const share_case& own = cases[threadIdx.x];
  const wide share = share_of_wide(own.bits, wide{own.high} << 64U | own.low);
  shares[threadIdx.x * 2] = static_cast<std::uint64_t>(share >> 64U);
  shares[threadIdx.x * 2 + 1] = static_cast<std::uint64_t>(share);
}

TEST_F(sampling_math, takes_the_integer_part_of_a_share) {
  constexpr std::uint64_t half = std::uint64_t{1} << 52U;
  constexpr std::uint64_t almost_all = (std::uint64_t{1} << 53U) - 1;
  const test::device_array<share_case> cases(std::vector<share_case>{{half, 0, 7},
                                                                     {half, 5, 1},
                                                                     {almost_all, 0, 9},
                                                                     {almost_all, 0, 0},
                                                                     {0, 5, 5},
                                                                     {half, std::uint64_t{1} << 42U, 0}});
  const test::device_array<std::uint64_t> shares(12);
  TROUPE_LAUNCH(take_shares, 1, 6, 0, nullptr, cases.data(), shares.data());
  EXPECT_EQ(shares.read(), (std::vector<std::uint64_t>{0, 3, 2, std::uint64_t{1} << 63U, 0, 8, 0, 0, 0, 0,
                                                       std::uint64_t{1} << 41U, 0}));
}

__global__ void add_up(const std::uint64_t* values, std::uint64_t* before, std::uint64_t* totals) {
  TROUPE_SHARED(std::uint64_t, parts, [32]);
  std::uint64_t total = 0;
  before[threadIdx.x] = block_exclusive_sum(values[threadIdx.x], parts, total);
  totals[threadIdx.x * 2] = total;
  totals[threadIdx.x * 2 + 1] = block_sum(values[threadIdx.x], parts);
}

TEST_F(sampling_math, adds_up_a_block_of_large_integers) {
  std::mt19937_64 random(73);
  for (const unsigned threads : {32U, 256U, 1024U}) {
    std::vector<std::uint64_t> values(threads);
    for (std::uint64_t& value : values) value = random() >> 21U;  // sums below 2^53
    const test::device_array<std::uint64_t> device_values(values);
    const test::device_array<std::uint64_t> before(threads);
    const test::device_array<std::uint64_t> totals(threads * 2);
    TROUPE_LAUNCH(add_up, 1, threads, 0, nullptr, device_values.data(), before.data(), totals.data());
    const auto sums = before.read();
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < threads; ++i) {
      EXPECT_EQ(sums[i], sum) << i;
      sum += values[i];
    }
    EXPECT_EQ(totals.read(), std::vector<std::uint64_t>(threads * 2, sum));
  }
}

}  // namespace
}  // namespace troupe
