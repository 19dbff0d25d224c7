// How long a step takes by its number of rows, as measured.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe {

// Between the measured row counts it is interpolated linearly. It never falls with more rows: where
// measurements say so, they are averaged (isotonic regression). Beyond what was measured it is unknown.
class step_costs {
 public:
  // A step of so many rows took so long (any unit, the same for all). Measured again, it moves towards the
  // new value by `weight`. Ignored: rows < 1, a time that is not finite or not positive, and further row
  // counts once there are `most_points`.
  void measured(std::int32_t rows, double time, double weight = 0.2);

  // A step of a load, of no more rows than were measured: what is known of as many moves towards `time` by
  // `weight`, as seen from no further than twice or half the cost. Times of other row counts that no step has
  // served yet move in the same proportion: they are of the same moment.
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
    double measured = 0.0;
    double cost = 0.0;
    double least_slope = 0.0;  // of the stretches from here on
    bool is_served = false;
  };
  void update();

  std::vector<point> points_;  // by rows
};

}  // namespace troupe
