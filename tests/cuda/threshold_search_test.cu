// The search for a threshold beside a plain loop over the values.
#include <algorithm>
#include <random>

#include "kernels/cuda/sampling/threshold_search.cuh"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

using namespace kernels::cuda;

struct keyed_amounts {
  using amount = std::uint64_t;
  const std::uint32_t* keys;
  const std::uint64_t* amounts;
  int size;

  __device__ int count() const { return size; }
  template <class Visit>
  __device__ void visit(Visit visit) const {
    for (int i = static_cast<int>(threadIdx.x); i < size; i += search_threads) visit(keys[i], amounts[i]);
  }
};
// The same values, each of which counts 1.
struct keyed_ones {
  using amount = std::uint32_t;
  keyed_amounts values;

  __device__ int count() const { return values.size; }
  template <class Visit>
  __device__ void visit(Visit visit) const {
    values.visit([&](std::uint32_t key, std::uint64_t) { visit(key, amount{1}); });
  }
};

struct search_case {
  std::uint32_t prefix = 0;
  int bits = 32;
  std::uint64_t above = 0;
  double target = 1;
};

template <class Values>
__global__ void search(Values values, search_case of, reached_key* found) {
  TROUPE_SHARED(search_parts, parts);
  const reached_key key = greatest_reaching(values, of.prefix, of.bits, of.above, of.target, parts);
  if (threadIdx.x == search_threads - 1) *found = key;
}

struct keyed_values {
  std::vector<std::uint32_t> keys;
  std::vector<std::uint64_t> amounts;

  // Bit by bit from the highest on, as the definition says.
  reached_key expected(const search_case& of) const {
    std::uint32_t best = of.prefix;
    for (int bit = of.bits - 1; bit >= 0; --bit) {
      const std::uint32_t tried = best | 1U << bit;
      std::uint64_t sum = of.above;
      for (std::size_t i = 0; i < keys.size(); ++i) sum += keys[i] >= tried ? amounts[i] : 0;
      if (static_cast<double>(sum) >= of.target) best = tried;
    }
    reached_key reached{best, 0, of.above};
    for (std::size_t i = 0; i < keys.size(); ++i) {
      reached.above += keys[i] > best ? amounts[i] : 0;
      reached.equals += keys[i] == best ? 1U : 0U;
    }
    return reached;
  }
  void expect_found(const search_case& of) const {
    const test::device_array<std::uint32_t> device_keys(keys);
    const test::device_array<reached_key> answer(2);
    const test::device_array<std::uint64_t> device_amounts(amounts);
    const keyed_amounts values{device_keys.data(), device_amounts.data(), static_cast<int>(keys.size())};
    TROUPE_LAUNCH((search<keyed_amounts>), 1, search_threads, 0, nullptr, values, of, answer.data());
    TROUPE_LAUNCH((search<keyed_ones>), 1, search_threads, 0, nullptr, keyed_ones{values}, of,
                  answer.data() + 1);
    const std::vector<reached_key> found = answer.read();
    expect_equal(found[0], expected(of), of);
    keyed_values ones = *this;
    ones.amounts.assign(keys.size(), 1);
    expect_equal(found[1], ones.expected(of), of);
  }
  static void expect_equal(const reached_key& found, const reached_key& expected, const search_case& of) {
    EXPECT_EQ(found.key, expected.key);
    if (expected.key == of.prefix) return;  // which nothing may have reached
    EXPECT_EQ(found.above, expected.above);
    EXPECT_EQ(found.equals, expected.equals);
  }
};

using threshold_search = test::cuda_kernels;

TEST_F(threshold_search, finds_the_greatest_key_that_reaches_the_target) {
  std::mt19937 random(5);
  for (int round = 0; round < 60; ++round) {
    search_case of;
    const bool is_part = round % 3 == 0;  // of the keys: the first bits are known
    of.bits = is_part ? 20 : 32;
    of.prefix = is_part ? 0x3F0U << 20U : 0;
    of.above = round % 5 == 0 ? 40 : 0;
    keyed_values values;
    const std::size_t most[] = {5, few_values,
                                1500};  // compared with each other at once, or those that are left
    const std::size_t count = std::size_t{1} + random() % most[round % 3];
    const bool has_many_equals = round % 7 == 2;
    std::uint64_t all = of.above;
    for (std::size_t i = 0; i < count; ++i) {
      const bool again = i > 0 && (has_many_equals ? i % 16 != 0 : random() % 4 == 0);
      const std::uint32_t low = static_cast<std::uint32_t>(random()) >> (is_part ? 12U : 0U);
      values.keys.push_back(again ? values.keys[has_many_equals ? 0 : random() % i] : of.prefix | low);
      values.amounts.push_back(random() % 8 == 0 ? 0 : random() % 1000);
      all += values.amounts.back();
    }
    for (const double share : {0.0, 0.3, 0.9, 1.0, 1.1}) {  // the last: nothing reaches it
      SCOPED_TRACE(testing::Message() << round << ", share " << share << " of " << count);
      of.target = std::max(1.0 + static_cast<double>(of.above), share * static_cast<double>(all));
      values.expect_found(of);
      of.target = std::max(1.0 + static_cast<double>(of.above), share * static_cast<double>(count));
      values.expect_found(of);
    }
  }
}

// Keys below the prefix are no part of it, and more equals than are compared with each other are counted all
// the same.
TEST_F(threshold_search, passes_over_keys_below_the_prefix_and_counts_many_equals) {
  keyed_values values;
  for (int i = 0; i < 900; ++i) {
    values.keys.push_back(i % 3 == 0 ? 0U : 0x3F012345U);
    values.amounts.push_back(i % 3 == 0 ? 0U : 7U);
  }
  search_case of{.prefix = 0x3F0U << 20U, .bits = 20, .above = 100, .target = 2000};
  values.expect_found(of);
  of.target = 1e9;
  values.expect_found(of);
}

}  // namespace
}  // namespace troupe
