// What a product of some weights and inputs is.
#pragma once
#include <cmath>
#include <cstdint>

namespace troupe::checks {

// The sum, and that of its terms' magnitudes.
struct sum_of_terms {
  double sum = 0;
  double magnitude = 0;
  void add(double weight, double input) {
    sum += weight * input;
    magnitude += std::abs(weight * input);
  }
  // fp32 sums in any order.
  double bound() const { return 1e-5 * magnitude + 1e-6; }
  // Where the result is rounded besides: of the sum and, where a library adds parts of it that are rounded,
  // of those, which are as large as sums of random terms are.
  double bound(double rounding, std::int32_t terms) const {
    const double parts = magnitude / std::sqrt(static_cast<double>(terms));
    return bound() + (std::abs(sum) + parts) * rounding;
  }
};

}  // namespace troupe::checks
