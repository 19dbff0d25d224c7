// How long a step takes by its number of rows, as measured.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

// Between the measured row counts it is interpolated linearly. It never falls with more rows: where
// measurements say so, they are averaged (isotonic regression). Beyond what was measured it is unknown.
//
// The steps of a load may take other times than the measured ones: for each row count they served it is kept
// how many times as long they took. Others are taken for what the nearest below and above say, by the
// logarithm of the rows.
class step_costs {
 public:
  // A step of so many rows took so long (any unit, the same for all). Measured again, it moves towards the
  // new value by `weight`. Ignored: rows < 1, a time that is not finite or not positive, and further row
  // counts once there are `most_points`.
  void measured(std::int32_t rows, double time, double weight = 0.2);

  // A step of a load, of no more rows than were measured: what is known of as many moves towards `time` by
  // `weight`, as seen from no further than twice or half the cost; what is known of nearly as many moves
  // with it, by less.
  void served(std::int32_t rows, double time, double weight);

  std::optional<double> cost(std::int32_t rows) const;
  // The least time that any further row costs, from `rows` up to the most that was measured; 0 where there
  // are none.
  double least_slope(std::int32_t rows) const;
  // 0: nothing was measured.
  std::int32_t most_rows() const { return points_.empty() ? 0 : points_.back().rows; }

  static constexpr std::size_t most_points = 128;

 private:
  struct point {
    std::int32_t rows = 0;
    double log_rows = 0.0;
    std::optional<double> measured = std::nullopt;
    double shape = 0.0;                           // of what was measured
    std::optional<double> factor = std::nullopt;  // of what was served
    double cost = 0.0;
    double least_slope = 0.0;  // of the stretches from here on
  };

  point* find_or_add(std::int32_t rows);  // null where there are most_points
  void update_shape();
  static bool is_served(const point& of) { return of.factor.has_value(); }
  static double factor_between(const point* below, const point* above, double log_rows);
  void update_costs();
  // Makes `value` of the points rise: runs of them that would fall share their mean, by weight.
  template <class Points, class Weight>
  void make_rising(Points&& those, double point::*value, Weight weight);

  std::vector<point> points_;  // by rows
  struct run {
    double sum = 0.0, weight = 0.0;
    std::size_t size = 0;
  };
  std::vector<run> runs_;  // kept for its memory
};

}  // namespace troupe
