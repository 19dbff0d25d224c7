// How large steps may be on a device that had no memory for one: half as large, and twice as large again when
// some have come to their end. What has taken the memory, and when it comes back, nobody knows: it may be
// another process. So larger ones are tried soon, and later each time that this was too much.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace troupe {

struct step_size {
  std::int32_t sequences = 0;
  std::int32_t rows = 0;
};

class step_bounds {
 public:
  // There was no memory for such a step. False where it cannot be smaller: it is a single row. Else steps are
  // half as large from here on, in rows where it has more of them than sequences, as with prompts; or as
  // large as before, where one of as many rows and sequences has ended well since the last shortage: then it
  // was not the size.
  bool lower(step_size step) {
    const step_size largest = std::exchange(largest_, {});
    const bool has_more_rows = step.rows > largest.rows;
    if (!has_more_rows && step.sequences <= largest.sequences) return true;
    if (step.rows <= 1) return false;
    if (has_more_rows && step.rows > step.sequences) {
      rows_ = step.rows / 2;
    } else {
      sequences_ = step.sequences / 2;
    }
    if (std::exchange(was_raised_, false)) patience_ = std::min(2 * patience_, most_patience);
    ended_ = 0;
    return true;
  }

  // One has come to its end. `most`: what steps may have besides.
  void step_ended(step_size step, step_size most) {
    largest_.sequences = std::max(largest_.sequences, step.sequences);
    largest_.rows = std::max(largest_.rows, step.rows);
    if (!is_set() || ++ended_ < patience_) return;
    if (was_raised_) patience_ = std::max(patience_ / 2, least_patience);
    was_raised_ = true;
    ended_ = 0;
    raise(sequences_, most.sequences);
    raise(rows_, most.rows);
  }

  bool is_set() const { return sequences_ || rows_; }
  // Of a step; nothing where there is no bound.
  std::optional<std::int32_t> sequences() const { return sequences_; }
  std::optional<std::int32_t> rows() const { return rows_; }
  // Steps until larger ones are tried.
  std::int32_t patience() const { return patience_; }

  static constexpr std::int32_t least_patience = 8;
  static constexpr std::int32_t most_patience = 1 << 16;

 private:
  static void raise(std::optional<std::int32_t>& bound, std::int32_t most) {
    if (bound && (*bound *= 2) >= most) bound.reset();
  }

  std::optional<std::int32_t> sequences_;
  std::optional<std::int32_t> rows_;
  step_size largest_;        // that has ended, in either way, since there was no memory for one
  std::int32_t ended_ = 0;   // steps, since the bounds have changed
  bool was_raised_ = false;  // by the last change
  std::int32_t patience_ = least_patience;
};

}  // namespace troupe
