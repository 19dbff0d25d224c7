#include "runtime/bucketing/bucket_values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <set>

namespace troupe {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

// Up, unless `value` is a multiple but for the rounding of the power that made it.
std::int64_t round_up(double value, std::int64_t step) {
  const double multiples = value / static_cast<double>(step);
  const double nearest = std::round(multiples);
  const bool is_multiple = std::abs(multiples - nearest) <= 1e-9 * multiples;
  return static_cast<std::int64_t>(is_multiple ? nearest : std::ceil(multiples)) * step;
}

// The multiple of step in [low, high] that is not taken and nearest to `wanted`; low and high are multiples.
std::optional<std::int64_t> nearest_free(const std::set<std::int64_t>& taken, double wanted,
                                         std::int64_t step, std::int64_t low, std::int64_t high) {
  const std::int64_t start = std::clamp(static_cast<std::int64_t>(wanted) / step * step, low, high);
  std::int64_t below = start;
  while (below >= low && taken.contains(below)) below -= step;
  std::int64_t above = start + step;
  while (above <= high && taken.contains(above)) above += step;
  if (below < low && above > high) return std::nullopt;
  if (below < low) return above;
  if (above > high) return below;
  return wanted - static_cast<double>(below) <= static_cast<double>(above) - wanted ? below : above;
}

}  // namespace

std::vector<std::int32_t> exponential_values(const bucket_range& range, bucket_fill fill) {
  if (range.limit <= 1) return {range.max};
  const std::int64_t step = range.step;
  const std::int64_t min = range.min > 0 ? range.min : step;
  const std::int64_t last = round_up(std::int64_t{range.max}, step);
  const double ratio = static_cast<double>(range.max) / static_cast<double>(min);
  std::set<std::int64_t> values;
  if (range.min == 0) values.insert(0);
  if (range.max == 0) return {0};
  for (std::int32_t i = 0; i < range.limit; ++i) {
    const double exact =
        static_cast<double>(min) * std::pow(ratio, static_cast<double>(i) / (range.limit - 1));
    std::int64_t value = round_up(exact, step);
    if (i == 0) value = min;
    if (i == range.limit - 1) value = last;
    if (values.insert(value).second || fill == bucket_fill::drop) continue;
    const auto free = nearest_free(values, exact, step, std::min(round_up(min, step), last), last);
    if (!free) break;
    values.insert(*free);
  }
  return {values.begin(), values.end()};
}

std::vector<std::int32_t> linear_values(const bucket_range& range) {
  std::vector<std::int32_t> values;
  if (range.min == 0) values.push_back(0);
  const std::int64_t min = range.min > 0 ? range.min : range.step;
  for (std::int64_t value = min; value < range.step && value <= range.max; value *= 2)
    values.push_back(static_cast<std::int32_t>(value));
  for (std::int64_t value = round_up(min, std::int64_t{range.step}); value <= range.max; value += range.step)
    values.push_back(static_cast<std::int32_t>(value));
  return values;
}

std::int32_t default_bucket_limit(std::int64_t max) {
  if (max <= 1) return 1;
  return static_cast<std::int32_t>(std::bit_width(static_cast<std::uint64_t>(max - 1))) + 1;
}

}  // namespace troupe
