// Multiples among the numbers that go on with a few more digits, by arithmetic.
#pragma once
#include <cstdint>
#include <span>

#include "runtime/grammar/regex/digit_counts.hpp"

namespace troupe::grammar {

// Digits that, read behind a number of this remainder, make a multiple of the divisor (1 to 2^59).
struct congruence {
  std::uint64_t divisor = 1, remainder = 0;
};

// Whether digits, of a number of them that is among `counts`, are in all of the first and none of the second.
// True is sure; false where there are none, or more than 18 digits or larger common multiples would be
// needed.
bool some_digits(const digit_counts& counts, std::span<const congruence> all_of,
                 std::span<const congruence> none_of);

}  // namespace troupe::grammar
