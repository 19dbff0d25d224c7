// How many decimal digits there may be.
#pragma once
#include <algorithm>
#include <cstdint>

#include "runtime/grammar/regex/regex_store.hpp"

namespace troupe::grammar {

struct digit_counts {
  std::uint32_t least = 0, most = unbounded;
  bool is_none() const { return least > most; }
};

inline constexpr digit_counts any_count{0, unbounded}, no_count{1, 0};

inline std::uint32_t sum(std::uint32_t a, std::uint32_t b) { return a >= unbounded - b ? unbounded : a + b; }

inline std::uint32_t times(std::uint32_t a, std::uint32_t n) {
  if (a == 0 || n == 0) return 0;
  return a >= unbounded / n ? unbounded : a * n;
}

inline digit_counts sum(const digit_counts& a, const digit_counts& b) {
  return {sum(a.least, b.least), sum(a.most, b.most)};
}

inline digit_counts common(const digit_counts& a, const digit_counts& b) {
  return {std::max(a.least, b.least), std::min(a.most, b.most)};
}

}  // namespace troupe::grammar
