// How large steps may be on a device that had no memory for one: half of that one, and twice as much again
// whenever so many steps have come to their end. What has taken the memory, and when it comes back, nobody
// knows: it may be another process.
#pragma once
#include <algorithm>
#include <cstdint>

namespace troupe {

class step_bounds {
 public:
  // There was no memory for a step of so many sequences and rows: where those are more than one of each, as
  // with prompts, rows are what takes it. False, and nothing is changed, for a single row.
  bool lower(std::int32_t sequences, std::int32_t rows) {
    if (rows <= 1) return false;
    (rows > sequences ? rows_ : sequences_) = rows / 2;
    ended_ = 0;
    return true;
  }
  void step_ended() {
    if (!are_set() || ++ended_ < steps_before_more) return;
    ended_ = 0;
    sequences_ = std::min(sequences_ * 2, unbound);
    rows_ = std::min(rows_ * 2, unbound);
  }

  bool are_set() const { return sequences_ < unbound || rows_ < unbound; }
  // At most so many; more than anybody has where they are not set.
  std::int32_t sequences() const { return sequences_; }
  std::int32_t rows() const { return rows_; }

  static constexpr std::int32_t steps_before_more = 64;

 private:
  static constexpr std::int32_t unbound = std::int32_t{1} << 28U;
  std::int32_t sequences_ = unbound;
  std::int32_t rows_ = unbound;
  std::int32_t ended_ = 0;  // steps, since they have changed
};

}  // namespace troupe
