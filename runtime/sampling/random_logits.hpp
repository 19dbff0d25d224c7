// Made-up rows of logits, a pure function of the seed: for tests, on the host and on a device.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/sampling/philox.hpp"

namespace troupe {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Normal numbers times `scale`. `grid` > 0 rounds to multiples of it, so that many are equal.
inline std::vector<float> random_logits(std::uint64_t seed, std::size_t size, float scale,
                                        float grid = 0.0F) {
  std::vector<float> logits(size);
  for (std::size_t i = 0; i < size; ++i) {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(seed, 2 * i)));
    const auto value =
        static_cast<float>(radius * std::cos(6.283185307179586 * uniform(seed, 2 * i + 1))) * scale;
    logits[i] = grid > 0.0F ? std::round(value / grid) * grid : value;
  }
  return logits;
}

}  // namespace troupe
