#include "runtime/drafting/draft_patience.hpp"

#include <algorithm>

namespace troupe {

// A sequence's step that is spared pays for waiting of most_steps of its kind.
void draft_patience::committed(std::uint64_t accepted, std::size_t sequences) {
  if (sequences == 0) return;
  ++steps_since_asked_;
  if (steps_left_ > 0) --steps_left_;
  const std::uint64_t earned = (accepted * most_steps + sequences - 1) / sequences;
  steps_left_ = std::min(steps_left_ + earned, most_steps);
}

std::chrono::nanoseconds draft_patience::for_step_after(std::chrono::nanoseconds last_step,
                                                        std::chrono::nanoseconds deadline) {
  const auto worth = std::clamp<std::chrono::nanoseconds>(4 * last_step, std::chrono::milliseconds(50),
                                                          std::chrono::seconds(5));
  return std::min(worth, deadline / 2);
}

}  // namespace troupe
