#include "runtime/drafting/step_costs.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>

namespace troupe {

namespace {

// By the logarithm of the rows: nearly as many rows take nearly the same, but for a further block of a
// kernel.
constexpr double nearness = 0.04;
// Of a row count that was not served, where it would have to take less than a smaller one that was.
constexpr double weight_of_a_guess = 0.05;

}  // namespace

step_costs::point* step_costs::find_or_add(std::int32_t rows) {
  const auto place = std::ranges::lower_bound(points_, rows, {}, &point::rows);
  if (place != points_.end() && place->rows == rows) return &*place;
  if (points_.size() == most_points) return nullptr;
  return &*points_.insert(place, {.rows = rows, .log_rows = std::log(rows)});
}

void step_costs::measured(std::int32_t rows, double time, double weight) {
  if (rows < 1 || !std::isfinite(time) || time <= 0.0) return;
  point* const it = find_or_add(rows);
  if (it == nullptr) return;
  it->measured = it->measured ? *it->measured + std::clamp(weight, 0.0, 1.0) * (time - *it->measured) : time;
  update_shape();
  update_costs();
}

void step_costs::served(std::int32_t rows, double time, double weight) {
  const std::optional<double> known = cost(rows);
  if (!known || !std::isfinite(time)) return;
  point* const it = find_or_add(rows);
  if (it == nullptr) return;
  if (it->shape == 0.0) update_shape();
  if (!it->factor) it->factor = *known / it->shape;
  const double seen = std::clamp(time, *known / 2, *known * 2) / it->shape;
  for (point& each : points_) {
    const double distance = std::abs(each.log_rows - it->log_rows);
    if (each.factor && distance < 8 * nearness)
      *each.factor += weight * std::exp(-distance / nearness) * (seen - *each.factor);
  }
  update_costs();
}

// Pool adjacent violators.
template <class Points, class Weight>
void step_costs::make_rising(Points&& those, double point::*value, Weight weight) {
  runs_.clear();
  const auto mean = [](const run& of) { return of.sum / of.weight; };
  for (const point& each : those) {
    runs_.push_back({weight(each) * each.*value, weight(each), 1});
    while (runs_.size() > 1 && mean(runs_[runs_.size() - 2]) > mean(runs_.back())) {
      const run last = runs_.back();
      runs_.pop_back();
      runs_.back() = {runs_.back().sum + last.sum, runs_.back().weight + last.weight,
                      runs_.back().size + last.size};
    }
  }
  auto at = std::begin(those);
  for (const run& each : runs_)
    for (std::size_t i = 0; i < each.size; ++i) (*at++).*value = mean(each);
}

void step_costs::update_shape() {
  const auto is_measured = [](const point& each) { return each.measured.has_value(); };
  auto those = points_ | std::views::filter(is_measured);
  for (point& each : those) each.shape = *each.measured;
  make_rising(those, &point::shape, [](const point&) { return 1.0; });
  const point* below = nullptr;
  for (auto it = points_.begin(); it != points_.end(); ++it) {
    if (it->measured) {
      below = &*it;
      continue;
    }
    const auto above = std::find_if(it, points_.end(), is_measured);
    const double share = static_cast<double>(it->rows - below->rows) / (above->rows - below->rows);
    it->shape = below->shape + share * (above->shape - below->shape);
  }
}

// At `log_rows`, between two that were served; null where there is none on that side.
double step_costs::factor_between(const point* below, const point* above, double log_rows) {
  if (below == nullptr || above == nullptr || below == above) {
    const point* one = below != nullptr ? below : above;
    return one != nullptr ? *one->factor : 1.0;
  }
  const double share = (log_rows - below->log_rows) / (above->log_rows - below->log_rows);
  return *below->factor + share * (*above->factor - *below->factor);
}

void step_costs::update_costs() {
  const point* below = nullptr;
  auto above = points_.begin();
  for (auto it = points_.begin(); it != points_.end(); ++it) {
    if (it->factor) below = &*it;
    above = std::find_if(std::max(above, it), points_.end(), is_served);
    it->cost = it->shape * factor_between(below, above != points_.end() ? &*above : nullptr, it->log_rows);
  }
  make_rising(points_, &point::cost,
              [](const point& each) { return is_served(each) ? 1.0 : weight_of_a_guess; });
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
