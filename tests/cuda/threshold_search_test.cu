// The search for a threshold beside a plain loop over the values.
#include <algorithm>
#include <random>

#include "kernels/cuda/threshold_search.cuh"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

using namespace kernels::cuda;

struct keyed_amounts {
  const std::uint32_t* keys;
  const std::uint64_t* amounts;
  int count;

  template <class Visit>
  __device__ void visit(Visit visit) const {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += search_threads) visit(keys[i], amounts[i]);
  }
};

struct search_case {
  std::uint32_t prefix = 0;
  int bits = 32;
  int last = 0;
  std::uint64_t above = 0;
  double target = 1;
};

__global__ void search(keyed_amounts values, search_case of, std::uint32_t* found) {
  TROUPE_SHARED(search_parts, parts);
  const std::uint32_t key =
      greatest_reaching(values, of.prefix, of.bits, of.last, of.above, of.target, parts);
  if (threadIdx.x == 0) *found = key;
}

struct keyed_values {
  std::vector<std::uint32_t> keys;
  std::vector<std::uint64_t> amounts;

  // Bit by bit from the highest on, as the definition says.
  std::uint32_t expected(const search_case& of) const {
    std::uint32_t best = of.prefix;
    for (int bit = of.bits - 1; bit >= of.last; --bit) {
      const std::uint32_t tried = best | 1U << bit;
      std::uint64_t sum = of.above;
      for (std::size_t i = 0; i < keys.size(); ++i) sum += keys[i] >= tried ? amounts[i] : 0;
      if (static_cast<double>(sum) >= of.target) best = tried;
    }
    return best;
  }
  std::uint32_t found(const search_case& of) const {
    const test::device_array<std::uint32_t> device_keys(keys), answer(1);
    const test::device_array<std::uint64_t> device_amounts(amounts);
    TROUPE_LAUNCH(search, 1, search_threads, 0, nullptr,
                  keyed_amounts{device_keys.data(), device_amounts.data(), static_cast<int>(keys.size())}, of,
                  answer.data());
    return answer.read().front();
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
    of.last = round % 4 == 1 ? 10 : 0;
    of.above = round % 5 == 0 ? 40 : 0;
    keyed_values values;
    const std::size_t count = std::size_t{1} + random() % (round % 2 == 0 ? 5 : 1500);
    std::uint64_t all = of.above;
    for (std::size_t i = 0; i < count; ++i) {
      const bool again = i > 0 && random() % 4 == 0;  // equal keys
      const std::uint32_t low = static_cast<std::uint32_t>(random()) >> (is_part ? 12U : 0U);
      values.keys.push_back(again ? values.keys[random() % i] : of.prefix | low);
      values.amounts.push_back(random() % 8 == 0 ? 0 : random() % 1000);
      all += values.amounts.back();
    }
    for (const double share : {0.0, 0.3, 0.9, 1.0, 1.1}) {  // the last: nothing reaches it
      of.target = std::max(1.0 + static_cast<double>(of.above), share * static_cast<double>(all));
      ASSERT_EQ(values.found(of), values.expected(of)) << round << ", share " << share << " of " << count;
    }
  }
}

}  // namespace
}  // namespace troupe
