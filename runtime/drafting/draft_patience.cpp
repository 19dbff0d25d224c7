#include "runtime/drafting/draft_patience.hpp"

#include <algorithm>

namespace troupe {

std::chrono::nanoseconds draft_patience::for_step_after(std::chrono::nanoseconds last_step,
                                                        std::chrono::nanoseconds deadline) {
  const auto worth = std::clamp<std::chrono::nanoseconds>(4 * last_step, std::chrono::milliseconds(50),
                                                          std::chrono::seconds(5));
  return std::min(worth, deadline / 2);
}

}  // namespace troupe
