#include "runtime/drafting/step_costs.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace troupe {

void step_costs::measured(std::int32_t rows, double time, double weight) {
  if (rows < 1 || !std::isfinite(time) || time <= 0.0) return;
  const auto place = std::ranges::lower_bound(points_, rows, {}, &point::rows);
  if (place != points_.end() && place->rows == rows) {
    place->measured += std::clamp(weight, 0.0, 1.0) * (time - place->measured);
  } else {
    if (points_.size() == most_points) return;
    points_.insert(place, {.rows = rows, .measured = time, .cost = time});
  }
  update();
}

void step_costs::served(std::int32_t rows, double time, double weight) {
  const std::optional<double> known = cost(rows);
  if (!known || !std::isfinite(time)) return;
  const double seen = std::clamp(time, *known / 2, *known * 2);
  auto place = std::ranges::lower_bound(points_, rows, {}, &point::rows);
  if (place->rows != rows) {
    if (points_.size() == most_points) return;
    place = points_.insert(place, {.rows = rows, .measured = *known, .cost = *known});
  }
  place->is_served = true;
  place->measured += weight * (seen - place->measured);
  for (point& each : points_)
    if (!each.is_served) each.measured *= 1.0 + weight * (seen / *known - 1.0);
  update();
}

// Pool adjacent violators: runs of points that would fall share their mean.
void step_costs::update() {
  struct run {
    double sum = 0.0;
    std::size_t size = 0;
    double mean() const { return sum / static_cast<double>(size); }
  };
  std::vector<run> runs;
  for (const point& each : points_) {
    runs.push_back({each.measured, 1});
    while (runs.size() > 1 && runs[runs.size() - 2].mean() > runs.back().mean()) {
      const run last = runs.back();
      runs.pop_back();
      runs.back().sum += last.sum;
      runs.back().size += last.size;
    }
  }
  std::size_t at = 0;
  for (const run& each : runs) {
    for (std::size_t i = 0; i < each.size; ++i) points_[at++].cost = each.mean();
  }
  points_.back().least_slope = 0.0;
  for (std::size_t i = points_.size() - 1; i > 0; --i) {
    const double slope =
        (points_[i].cost - points_[i - 1].cost) / static_cast<double>(points_[i].rows - points_[i - 1].rows);
    points_[i - 1].least_slope = i + 1 == points_.size() ? slope : std::min(slope, points_[i].least_slope);
  }
}

std::optional<double> step_costs::cost(std::int32_t rows) const {
  const auto above = std::ranges::lower_bound(points_, rows, {}, &point::rows);
  if (above == points_.end()) return std::nullopt;
  if (above->rows == rows) return above->cost;
  if (above == points_.begin()) return std::nullopt;
  const point& below = *std::prev(above);
  const double share = static_cast<double>(rows - below.rows) / static_cast<double>(above->rows - below.rows);
  return below.cost + share * (above->cost - below.cost);
}

double step_costs::least_slope(std::int32_t rows) const {
  const auto above = std::ranges::upper_bound(points_, rows, {}, &point::rows);
  if (above == points_.end() || above == points_.begin()) return 0.0;
  return std::prev(above)->least_slope;
}

}  // namespace troupe
