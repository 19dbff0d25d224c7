// Whether counts can have come from a distribution.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace troupe {

// Pearson's statistic as a standard normal number (Wilson, Hilferty, "The distribution of chi-square", 1931).
// Cells where fewer than 10 are expected count as one. Infinite where something was drawn that cannot be.
inline double chi_square_score(const std::vector<std::uint64_t>& counts,
                               const std::vector<double>& probabilities, double draws) {
  double statistic = 0.0;
  double freedom = -1.0;
  double rare_count = 0.0;
  double rare_expected = 0.0;
  const auto add = [&](double count, double expected) {
    statistic += (count - expected) * (count - expected) / expected;
    freedom += 1.0;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = draws * probabilities[i];
    const auto count = static_cast<double>(counts[i]);
    if (expected == 0.0 && count > 0.0) return std::numeric_limits<double>::infinity();
    if (expected >= 10.0) {
      add(count, expected);
    } else {
      rare_count += count;
      rare_expected += expected;
    }
  }
  if (rare_expected > 0.0) add(rare_count, rare_expected);
  if (freedom < 1.0) return 0.0;
  const double variance = 2.0 / (9.0 * freedom);
  return (std::cbrt(statistic / freedom) - (1.0 - variance)) / std::sqrt(variance);
}

inline double total_variation(const std::vector<std::uint64_t>& counts,
                              const std::vector<double>& probabilities, double draws) {
  double sum = 0.0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += std::abs(static_cast<double>(counts[i]) / draws - probabilities[i]);
  }
  return sum / 2.0;
}

// Passed with at most this probability, for any number of draws: the mean by Jensen's inequality, the rest by
// McDiarmid's (one draw moves the distance by at most 1 / draws).
inline double total_variation_bound(const std::vector<double>& probabilities, double draws, double chance) {
  double mean = 0.0;
  for (const double p : probabilities) mean += std::sqrt(p * (1.0 - p) / draws) / 2.0;
  return mean + std::sqrt(-std::log(chance) / (2.0 * draws));
}

}  // namespace troupe
