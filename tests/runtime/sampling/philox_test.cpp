#include "runtime/sampling/philox.hpp"

#include <gtest/gtest.h>

#include <set>

namespace troupe {
namespace {

// Known answers of the Random123 library, file tests/kat_vectors, "philox4x32 10".
TEST(philox, gives_the_published_known_answers) {
  using words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(uniform, is_the_first_53_bits_of_philox_under_seed_and_position) {
  EXPECT_EQ(uniform(0, 0),
            static_cast<double>((0x6627e8d5ULL >> 5U << 26U) | (0xe169c58dULL >> 6U)) * 0x1.0p-53);
}

TEST(uniform, differs_by_every_bit_of_seed_and_position) {
  std::set<double> seen{uniform(0, 0)};
  for (unsigned bit = 0; bit < 64; ++bit) {
    EXPECT_TRUE(seen.insert(uniform(1ULL << bit, 0)).second) << bit;
    EXPECT_TRUE(seen.insert(uniform(0, 1ULL << bit)).second) << bit;
  }
}

// Chi-square over 64 equal bins: 63 degrees of freedom, 103.4 is passed with probability 0.001.
TEST(uniform, fills_bins_evenly_along_positions_and_along_seeds) {
  constexpr int bins = 64;
  constexpr int draws = 64000;
  for (const bool along_positions : {true, false}) {
    std::array<int, bins> counts{};
    for (std::uint64_t i = 0; i < draws; ++i) {
      const double u = along_positions ? uniform(42, i) : uniform(i, 42);
      ASSERT_GE(u, 0.0);
      ASSERT_LT(u, 1.0);
      ++counts[static_cast<std::size_t>(u * bins)];
    }
    double chi_square = 0.0;
    for (const int count : counts) {
      const double expected = static_cast<double>(draws) / bins;
      chi_square += (count - expected) * (count - expected) / expected;
    }
    EXPECT_LT(chi_square, 103.4);
  }
}

// Chi-square over 8 by 8 equal cells for every two streams: 63 degrees of freedom, 111.1 is passed with
// probability 0.00017.
TEST(uniform, of_different_streams_is_independent) {
  constexpr std::size_t bins = 8;
  constexpr int draws = 64000;
  const std::array streams{random_stream::draw, random_stream::accept, random_stream::residual};
  for (std::size_t a = 0; a < streams.size(); ++a) {
    for (std::size_t b = a + 1; b < streams.size(); ++b) {
      std::array<int, bins * bins> counts{};
      for (std::uint64_t i = 0; i < draws; ++i) {
        const auto row = static_cast<std::size_t>(uniform(i / 100, i % 100, streams[a]) * bins);
        ++counts[row * bins + static_cast<std::size_t>(uniform(i / 100, i % 100, streams[b]) * bins)];
      }
      double chi_square = 0.0;
      for (const int count : counts) {
        const double expected = static_cast<double>(draws) / (bins * bins);
        chi_square += (count - expected) * (count - expected) / expected;
      }
      EXPECT_LT(chi_square, 111.1) << a << " " << b;
    }
  }
}

TEST(uniform, draws_tokens_from_the_stream_of_counter_0) {
  EXPECT_EQ(uniform(0, 0, random_stream::draw), uniform(0, 0));
  EXPECT_NE(uniform(0, 0, random_stream::accept), uniform(0, 0));
}

}  // namespace
}  // namespace troupe
