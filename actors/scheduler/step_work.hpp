// What there is to compute in a step, for its deadline.
#pragma once
#include <cstdint>
#include <numeric>

#include "runtime/step_batch.hpp"

namespace troupe {

// In rows without a context. Attention to so many positions takes as long as all else that a row takes:
// measured with SmolLM2-135M, where prefills of 512, 4,096 and 8,000 tokens tell the two apart (2,070 us
// a row, 0.94 us a position). Larger models have relatively less attention, and so more time.
inline std::int64_t work_of(const batch_rows& step) {
  constexpr std::int64_t positions_like_a_row = 2048;
  const std::int64_t positions =
      std::accumulate(step.positions.begin(), step.positions.end(), std::int64_t{0});
  return step.num_rows() + positions / positions_like_a_row;
}

}  // namespace troupe
