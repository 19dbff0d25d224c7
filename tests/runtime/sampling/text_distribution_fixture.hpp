// Whether drawn texts can have come from the probabilities of all texts.
#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/runtime/sampling/goodness_of_fit_fixture.hpp"

namespace troupe {

// A normal number passes the first with the second's probability: any of 300 comparisons, more than a test
// makes, does so with less than 1e-4 (Bonferroni).
inline constexpr double highest_score = 5.0;
inline constexpr double chance_of_passing = 3e-7;

// Texts of `length` tokens of a vocabulary, numbered so that the first token counts most.
struct text_space {
  std::size_t vocab = 0;
  std::size_t length = 0;
  std::size_t joint = 0;  // as many of the first tokens are looked at together
};

// What the texts' first `joint` tokens count or weigh.
template <class Number>
std::vector<Number> by_first_tokens(const std::vector<Number>& texts, const text_space& space) {
  std::size_t same = 1;
  for (std::size_t i = space.joint; i < space.length; ++i) same *= space.vocab;
  std::vector<Number> sums(texts.size() / same);
  for (std::size_t i = 0; i < texts.size(); ++i) sums[i / same] += texts[i];
  return sums;
}

// What their last two do.
template <class Number>
std::vector<Number> by_last_tokens(const std::vector<Number>& texts, const text_space& space) {
  std::vector<Number> sums(space.vocab * space.vocab);
  for (std::size_t i = 0; i < texts.size(); ++i) sums[i % sums.size()] += texts[i];
  return sums;
}

inline void expect_fit(const std::vector<std::uint64_t>& counts, const std::vector<double>& probabilities) {
  const auto draws = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  EXPECT_LT(chi_square_score(counts, probabilities, draws), highest_score);
  EXPECT_LT(total_variation(counts, probabilities, draws),
            total_variation_bound(probabilities, draws, chance_of_passing));
}

inline void expect_texts_fit(const std::vector<std::uint64_t>& counts,
                             const std::vector<double>& probabilities, const text_space& space) {
  expect_fit(by_first_tokens(counts, space), by_first_tokens(probabilities, space));
  expect_fit(by_last_tokens(counts, space), by_last_tokens(probabilities, space));
}

}  // namespace troupe
