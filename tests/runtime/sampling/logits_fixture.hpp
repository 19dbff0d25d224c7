// Made-up rows of logits, a pure function of the seed.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "runtime/sampling/philox.hpp"
#include "runtime/sampling/sampler.hpp"

namespace troupe {

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

// All indices by descending value, equal ones by ascending index.
inline std::vector<std::size_t> descending(const std::vector<float>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  return order;
}

inline sample_row row_for(sampling_params params, std::int32_t position = 1) {
  sample_row row;
  row.position = position;
  row.num_generated = 1000;  // past every min_tokens unless a test says otherwise
  row.sampling = std::make_shared<const sampling_params>(std::move(params));
  return row;
}

}  // namespace troupe
